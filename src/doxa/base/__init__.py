"""Values, times, points, index terms, errors and limits: the lowest layer, without imports from
other packages of doxa. It opens no file: `files` works on what a caller opened."""
