"""The tables of each language, as data; `languages` describes their form."""
