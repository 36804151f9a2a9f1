"""Words that are not names by themselves, even with a capital at the start of a sentence.

Whole English words of conversations and logs, chosen by hand; spelling.py does not correct them
either. recall/lanes/frequent_words.py lists words by their frequency, as stems, in four languages
and with names among them, so it cannot decide what is a name.
"""

from __future__ import annotations

# Mostly openers of sentences in conversations; cut from both ends of a longer run of words.
NOT_NAMES = frozenset(
    "a about absolutely actually after again agreed ah aha all almost also although always am"
    " amazing an and another any anyone anything anyway apparently appreciate are as at aw awesome"
    " aww basically be beautiful because been before being best better big both bro btw but by bye"
    " call can cannot check cheers clearly come congrats congratulations cool could currently dad"
    " damn dear definitely despite did do does doing done dude during each either else enjoy even"
    " eventually ever every everyone everything exactly excellent fair fantastic fascinating feel"
    " finally fine first follow for from fun fyi get getting girl give glad go god good got gotcha"
    " great guess guys had haha happy hard has have having he heck hello help her here hey hi him"
    " his hm hmm hold honestly hope hopefully how however huge i if imagine impressive in"
    " incredible indeed inspiring instead interesting into is it its jeez just keep know last"
    " lately later let like little lol look looking looks lots love lovely lucky make man many may"
    " maybe me might mine mom more most mostly mum much must my nah nearly need neither never next"
    " nice no nobody none nope normally not note nothing now obviously of off oh ok okay omg on"
    " once one only or other others otherwise ouch our out over perfect perhaps personally phew pic"
    " please plus pretty probably put quite read ready really recently remember right sadly same"
    " say see seeing seems seriously several shall she should similarly since sir so some somebody"
    " someone something sometimes soon sorry sounds speaking still stay stop such super sure sweet"
    " take talk tbh tell thank thanks that the their them then there therefore these they thing"
    " things think this those though thought through thus til till to today together tomorrow"
    " tonight too totally true truly try trying two ugh um unfortunately unless until up upon us"
    " use used usually very via wait wanna want was way we well were what whatever when whenever"
    " where whether which while who whoa whole whose why will wish with without woah wonderful woo"
    " woohoo yikes yay hooray kudos bravo phew welcome wow would wow ya yay yea yeah yep yes"
    " yesterday yet you your yours yup am pm tv ps asap aka faq diy ceo idk imo imho lmao rofl dm"
    " pls plz thx np nvm todo done fixed added updated error warning info debug true false null"
    " none".split()
)
