"""What may be kept as a conclusion, and what may not: command lines, scores, halves of sentences,
sentences about nobody."""

from __future__ import annotations

import pytest

from doxa.language.lint.complete import fragment_problem, statement_problem

COMPLETE = """
Ann lives in Lisbon.
The port is 9090.
the port is 9090
I work at Acme Robotics.
My sister lives in Bonn.
The team decided to use Postgres because the data is relational.
Ann will send the report to Tom by Friday.
Ann moved to Lisbon in May, so she sold her car.
We agreed on a budget of $900.
Nobody has tested the restore yet.
Deploys run on Tuesdays.
GitHub Actions builds the docker image.
Go is the language of the backend.
The user prefers dark mode.
Melanie painted a sunrise in 2022.
Caroline went to the LGBTQ support group on 7 May 2023.
Anna wohnt seit Mai in Lissabon.
Ana vive en Lisboa desde mayo.
Anne habite à Lisbonne.
安娜五月搬到了里斯本。
Doxa keeps one file for each tenant.
Make is the build tool of this project.
The make target that builds the wheel is `make wheel`.
Tom's birthday is 3 May.
Meetings start at 9:00.
Jon and Gina opened a dance studio.
This project uses Python 3.12.
Both teams share the staging database.
The score of the match was 3:1.
Relevance is computed by words, meaning and time.
There is a spare key under the mat.
API keys rotate every 90 days.
Someone like Ann runs the shop.
Two servers run in Frankfurt: alpha and beta.
Work starts at nine.
Ann's dog is called Rex.
Running keeps Ann calm.
Kate takes 20 mg of atorvastatin.
On Monday Ann starts at Acme.
In May 2023 Caroline adopted a dog.
After the outage the team added alerts.
No deployments happen on Fridays.
With the new router the wifi reaches the attic.
For breakfast Ann eats oats.
To save money, Ann cycles to work.
Because the flight was late, Ann missed the train.
Although it rained, the party took place outside.
"""
INCOMPLETE = """
git push --force origin main
$ npm install left-pad
npm install
docker compose up -d
cd /tmp && ls -la
cat log.txt | grep error
Candidate: moves to Lisbon confidence: 0.00
confidence: 0.82
relevance score: 0.91 Ann likes tea
Ann likes tea (0.96)
because of the new
and then she left
Ann moved to
the quick brown
the new office of the
She loves it there.
It was nice.
They decided to go.
Moved to Lisbon.
Likes tea.
Does Ann live in Lisbon?
Set the port to 9090.
Deploy the new build to production.
{"a": 1}
- a bullet
# Heading
https://example.com/x
Lisbon
Ann lives in...
Ann said that (
of the new car
to be continued
Working on the thing
Running the migration.
pip install -r requirements.txt
python -m pytest -q
kubectl apply -f deploy.yaml
/usr/bin/env python
recallCount: 7
score=0.91
You should try it.
wants to buy a house
python3 manage.py migrate
Promoted: Ann likes tea
sudo systemctl restart nginx
the
Ann, Tom and
Yes.
Thanks!
ok
"""


@pytest.mark.parametrize("text", COMPLETE.strip().splitlines())
def test_a_complete_statement_passes(text: str) -> None:
    assert statement_problem(text) == ""


@pytest.mark.parametrize("text", INCOMPLETE.strip().splitlines())
def test_anything_else_does_not(text: str) -> None:
    assert statement_problem(text)


def test_what_follows_a_statement_may_refer_to_it() -> None:
    assert statement_problem("Ann moved to Lisbon. She likes it there.") == ""
    assert statement_problem("Ann moved to Lisbon. Confidence: 0.82.")


def test_an_entry_is_no_command_and_no_score() -> None:
    assert fragment_problem("moves to Lisbon, and sells her car") == ""
    assert fragment_problem("git push --force")
