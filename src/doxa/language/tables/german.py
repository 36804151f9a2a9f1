"""The tables of German."""

from doxa.language.languages import Language

GERMAN = Language(
    code="de",
    stemmer="german",
    common=(
        "zwei drei vier fünf sechs sieben der die das den dem des in ein eine einen einem "
        "einer ist sind bin war und nicht mehr jetzt nun auf für mit von bei nach zu zum zur "
        "im am um aus ich wir sie er es mein meine meinen unser unsere ihr ihre sein seine "
        "hat habe haben wird wurde wurden auch kein keine sich dass wenn ab seit heute "
        "gestern läuft heißt wohnt arbeitet kostet mag findet statt beträgt lautet gegen "
        "über unter vom jeden uhr doch schon noch wie was wer wo wann ob bitte nutzt nutzen "
        "spricht fährt hört liegt steht isst trinkt spielt bleibt gibt wir uns mich mir dir dich "
        "ihm ihn "
        "einem einen seinem seiner meiner meinem unserem unseren unserer gegen ohne durch vor "
        "zum vom "
        "seit wieder immer nur sowie hatte hatten worden geworden macht machen geht gehen kommt "
        "stehen"
    ),
    articles="der|die|das|den|dem|des|ein|eine|einen|einem|einer|eines",
    of="von|vom|des|der|für|fürs",
    me="ich|mich|mir",
    we="wir|uns",
    my="mein|meine|meinen|meinem|meiner|meines",
    our="unser|unsere|unseren|unserem|unserer|unseres",
    others=(
        "er|sie|es|ihm|ihr|ihre|ihren|ihrem|ihrer|sein|seine|seinen|seinem|seiner|dieser|diese|dies"
    ),
    change=(
        "jetzt|nun|nunmehr|inzwischen|mittlerweile|neuerdings|ab sofort|ab jetzt|ab heute|ab "
        r"(?:diesem|dem nächsten|nächstem|kommendem) \w+|ab (?:morgen|montag|dienstag|mittwoch"
        "|donnerstag|freitag|samstag|sonntag|januar|februar|märz|april|mai|juni|juli|august"
        "|september|oktober|november|dezember)|von nun an|von jetzt an|seit neuestem|seit "
        r"kurzem|seit (?:heute|gestern|dieser woche|letzter woche|letztem monat|diesem \w+"
        r"|letztem \w+|januar|februar|märz|april|mai|juni|juli|august|september|oktober"
        "|november|dezember|montag|dienstag|mittwoch|donnerstag|freitag)|zurzeit|derzeit"
        "|aktuell|künftig|stattdessen|wieder"
    ),
    besides=(
        "auch|außerdem|zusätzlich|zudem|ebenfalls|ebenso|noch ein|noch eine|noch einen"
        "|daneben|ein weiterer|eine weitere|einen weiteren|ein zweites|eine zweite|einen "
        "zweiten|manchmal|gelegentlich|nebenbei|dazu"
    ),
    times=(
        r"letzte[nrs]? (?:woche|monat|jahr|\w+tag|mittwoch|sommer|winter|herbst|frühling)"
        "|diese[nrs]? (?:woche|monat|jahr|sommer|winter)|gestern|vorgestern|kürzlich|neulich"
        "|vor kurzem|gerade|soeben|eben|endlich|schon|bereits|offiziell|tatsächlich|übrigens"
        "|ja|vor (?:einem|einer|zwei|drei|ein paar|einigen) (?:tagen|tag|wochen|woche|monaten"
        "|monat|jahren|jahr)|doch|leider|zum glück|eigentlich|heute|dann|einfach|sogar|erst"
    ),
    turns=(
        r"neu\w*|ge(?:wechselt|ändert|stiegen|sunken|kündigt|heiratet|trennt|tauscht|strichen"
        r"|zogen|worden|senkt)|um(?:gestellt|gestiegen|gezogen|benannt|gebucht|gelegt)"
        r"|ver(?:schoben|schiebt|legt|längert|kürzt|kauft|größert|kleinert)|er(?:höht|setzt"
        r"|neuert)|ab(?:gegeben|gesagt|gelöst|geschafft)|auf(?:gehört|gegeben|gestockt)"
        r"|an(?:gefangen|gehoben)|aus(?:gezogen|gestiegen|getauscht)|ein(?:gestellt|gezogen)"
        r"|wechsel\w*|migriert|aktualisiert|statt|nicht mehr|kein\w* mehr|nur noch|erst"
        r"|doch nicht|repariert|über(?:nommen|nimmt)|wieder"
    ),
    ends="nicht mehr|nicht länger|kein(?:e|en|em|er)?(?=.* mehr$)|kein(?:e|en|em|er)?(?= mehr)",
    nots="nicht|kein|keine|keinen|keinem|keiner|nie|niemals|weder",
    question=(
        r"\?\s*$|^(?:wer|wie|was|wo|wann|warum|wieso|weshalb|welche[rsnm]?|wohin|woher|wem|wen"
        "|wessen|ob|wenn|falls|sofern|angenommen|stell dir|könnte|könntest|sollte|sollten"
        r"|dürfte)\b"
    ),
    hedge=(
        "vielleicht|möglicherweise|eventuell|evtl|wahrscheinlich|vermutlich|womöglich"
        "|angeblich|hoffentlich|könnte|könnten|würde|würden|sollte|sollten|möchte|möchten"
        "|wollen|will|wollte|überlegt|überlege|überlegen|erwägt|erwägen|plant|plane|planen"
        "|hofft|hoffe|hoffen|glaube|glaubt|denke|denkt|wünscht|wünsche|träumt|träume|wäre"
        "|hätte|hätten|wenn|falls|fast|beinahe|bewirbt|beworben|bewerbe|vorhat|vorhabe"
        "|versucht|scheint|anscheinend|ob|wohl|müsste|dürfte|sollen wir|in erwägung"
        r"|nachdenk\w+|denkt darüber|bald|demnächst|werde|nehme an|nicht sicher|unsicher"
        r"|als ob|fälschlich|fälschlicherweise|irrtümlich|versehentlich|kandidiert|haha|im spaß"
        r"|testet|testen|teste|beispiel|beispielsweise|z\.b\.|zum spaß|scherz|witz|noch nicht"
    ),
    report=(
        "sagt|sagte|sagten|gesagt|behauptet|behauptete|meint|meinte|erzählt|erzählte|laut"
        "|gehört, dass|hörte|gehört habe|berichtete?(?!.* an )|berichten(?!.* an )|schrieb"
        "|schreibt(?=,| dass)|geschrieben, dass|fragt|fragte|zufolge|gerücht|gerüchte"
        "|angeblich|vermutet|im (?:roman|film|buch|traum|spiel|beispiel)|in der (?:geschichte"
        "|serie)|scherzte|witzelte|flüsterte|rief|soll"
    ),
    opening=(
        "übrigens|update|info|hinweis|achtung|korrektur|ach ja|ach|also|nein|ja|ok|okay"
        "|moment|sorry|entschuldigung|kurze info|zur info|kleine korrektur|gute nachrichten?"
        "|nur so|fyi|btw|wichtig|neuigkeiten|bitte (?:merken|beachten)|merke?|aktualisierung"
        "|und|aber|so|hey|hallo|nur zur info|stimmt nicht mehr|planänderung|änderung"
    ),
    instead=(
        "statt {old}|anstatt {old}|anstelle von {old}|und nicht mehr {old}|und nicht {old}"
        "|,nicht mehr {old}|,nicht länger {old}|,nicht {old}|,vorher {old}|,früher {old}"
        "|,bisher {old}|,zuvor {old}|,kein {old} mehr"
    ),
    joins="und|aber|sondern|sowie",
    new="neue[rsnm]?",
    roles=(
        r"\w*(?:leiter|chef|lehrer|ingenieur|arzt|ärzt|manager|direktor|entwickler|berater"
        "|student|schüler|architekt|anwält|anwalt|koch|bäcker|pfleger|vorstand|sekretär"
        "|kellner|übersetzer|designer|minister|trainer|autor|professor|geschäftsführer"
        "|verkäufer|fahrer|händler|forscher|praktikant|azubi|assistent|kapitän"
        "|präsident)(?:in)?"
    ),
    contrast="sondern",
    phrases="""
moved to: ist|bin|sind * von|aus {old} nach|in {v} gezogen|umgezogen|übergesiedelt|übersiedelt /
    zog|zieht|ziehe|ziehen von|aus {old} nach|in {v} um? /
    ist|bin|sind * nach|in|zu|auf {v} gezogen|umgezogen|übergesiedelt|übersiedelt /
    zog|zieht|ziehe|ziehen nach|in {v} um? / hat|habe * wohnsitz nach {v} verlegt / zieht|ziehe
    um nach {v} / hat|habe|haben * haus|wohnung in {v} bezogen
moved away from: ist|bin|sind * aus|von {v} weggezogen|ausgezogen|fortgezogen
lives in: wohnt|wohne|wohnen|lebt|lebe|leben|wohnhaft in|im|bei|auf|am|an {v} / ist|bin|sind
    in|im {v} zuhause|ansässig / ist|bin in {v} zu hause / hat seinen|ihren sitz|hauptsitz in
    {v} / sitzt|sitzen|residiert in {v} / ist|bin * wohnhaft in {v}
joined: hat|habe * bei|beim|in {v} angefangen|begonnen|angeheuert|unterschrieben / ist|bin
    zu|zur|zum {v} gewechselt / wechselt|wechselte|wechsle zu|zur|zum {v} / fängt|fing|fange
    bei|beim {v} an / hat|habe * job|stelle|arbeit bei|beim {v} angenommen|gefunden|bekommen /
    hat|habe * job|stelle|arbeit bei|beim {v} / wurde von {v} eingestellt|angestellt / ist|bin
    bei {v} eingestiegen / startet|startete bei {v}
resigned from: hat|habe * bei|beim {v} gekündigt|aufgehört / hat|habe {v} verlassen /
    verlässt|verließ {v} / ist|bin bei {v} ausgeschieden / wurde bei|von {v}
    entlassen|gefeuert|gekündigt / kündigte bei {v}
works as: arbeitet|arbeite|arbeiten als {v} / ist|bin {v} von beruf / ist|bin als {v}
    tätig|angestellt
works at: arbeitet|arbeite|arbeiten bei|beim|für|am|im|an {v} / ist|bin|sind bei|beim|für {v}
    angestellt|beschäftigt|tätig
became: wurde|wird|ist|bin zur|zum {v} befördert|ernannt|gewählt / ist|bin * {v} geworden
is=working: geht|funktioniert|läuft
is=married: hat|habe|haben geheiratet / hat|habe|haben am|im|an|letztes|letzten * geheiratet
married: hat|habe {v} geheiratet / heiratete|heiratet {v}
is married to: ist|bin mit {v} verheiratet
divorced: hat|habe sich|mich von {v} scheiden lassen / hat|habe sich|mich von {v} getrennt /
    ist|bin von {v} geschieden|getrennt / {s} und {v} haben sich scheiden lassen / {s} und {v}
    haben sich getrennt / {s} und {v} sind|leben geschieden|getrennt
renamed to: wurde|wird|ist in|zu {v} umbenannt / wir|sie haben {s} in|zu {v} umbenannt /
    haben|hat|habe {s} in|zu {v} umbenannt
is called: heißt|heisst|heiße|heißen {v} / wird|werden {v} genannt / hört auf den namen {v}
costs: kostet|kosten {v}
weighs: wiegt|wiege|wiegen {v}
is due on: ist|sind * bis|am|zum {v} fällig / ist|sind fällig am|bis|zum|bis_zum {v} / muss *
    bis|am|bis_zum {v} fertig|abgegeben|eingereicht|erledigt sein|werden|sein / muss bis|am {v}
    fertig sein
takes: dauert|dauern|braucht {v}
listens on port: läuft|lauscht|hört|horcht|liegt|lauschen auf port {v} / ist auf|über|unter port
    {v} erreichbar / hört auf {v} / nutzt|verwendet port {v}
reports to: berichtet|berichte|berichten an {v} / untersteht {v} / ist {v} unterstellt
is led by: wird|werden von {v} geleitet|geführt|geführt
leads: leitet|leite|leiten {v}
switched to: ist|sind|bin|hat|haben|wurde|wurden * von {old} auf|zu|nach {v}
    umgestiegen|gewechselt|umgestellt|migriert|umgezogen|gewechselt /
    ist|sind|bin|hat|haben|wurde|wurden auf|zu|nach {v}
    umgestiegen|gewechselt|umgestellt|migriert|umgezogen|aktualisiert|gewechselt /
    steigt|steigen|steige auf {v} um / wechselt|wechseln|wechselte von {old} auf|zu {v} /
    wechselt|wechseln|wechselte auf|zu {v} / ist|sind|bin auf|zu {v} übergegangen
switched to: {old} wurde als {s} von|durch {v} abgelöst|ersetzt / wir|sie haben {old} durch {v}
    ersetzt / hat|habe|haben
    mein|meine|meinen|sein|seinen|ihr|ihren|das|den|die? {old} gegen {v}
    getauscht|eingetauscht|ausgetauscht / haben {old} in|bei {s} durch {v} ersetzt / {old} wurde
    durch {v} ersetzt / {old}
    wurde in|bei {s} durch {v} ersetzt / {v} ersetzt {old} / {v} hat {old} ersetzt|abgelöst /
    {v} löst {old} ab
changed to: wurde|wurden|wird|ist|sind|hat|haben * von {old} auf|zu|in|nach {v}
    verschoben|verlegt|geändert|erhöht|gesenkt|reduziert|verlängert|verkürzt
    |vorverlegt|vorgezogen|vertagt|gestiegen|gefallen|gesunken|gesetzt|angehoben
    |aktualisiert|korrigiert|angepasst|begrenzt|festgelegt|geändert / wurde|wurden|wird|ist|sind
    * auf|zu|in|nach|bis|zum {v}
    verschoben|verlegt|geändert|erhöht|gesenkt|reduziert|verlängert|verkürzt
    |vorverlegt|vorgezogen|vertagt|gestiegen|gefallen|gesunken|gesetzt|angehoben
    |aktualisiert|korrigiert|angepasst|begrenzt|festgelegt|umgestellt /
    steigt|stieg|sinkt|sank|fiel|erhöht|wechselt|verschiebt von {old} auf {v} /
    steigt|stieg|sinkt|sank|fiel auf {v} / hat|haben sich von {old} auf|zu|in {v}
    geändert|erhöht|verschoben / hat|haben sich auf|zu|in {v}
    geändert|erhöht|verschoben|verringert / erhöht|verschiebt|ändert sich auf {v} /
    wir|ich|sie|man haben|habe|hat {s} von {old} auf|nach|zu {v}
    verschoben|verlegt|geändert|erhöht|gesenkt|reduziert|verlängert|verkürzt
    |vorverlegt|vorgezogen|vertagt|gesetzt|angehoben|umgestellt|umgezogen
    |aktualisiert|migriert|gestrichen|gewechselt|hochgezogen|hochgestuft|gehoben|geupdatet|upgedatet
    |geupgradet / wir|ich|sie|man haben|habe|hat {s} auf|nach|zu|in {v}
    verschoben|verlegt|geändert|erhöht|gesenkt|reduziert|verlängert|verkürzt
    |vorverlegt|vorgezogen|vertagt|gesetzt|angehoben|umgestellt|umgezogen
    |aktualisiert|migriert|gestrichen|gewechselt|hochgezogen|hochgestuft|gehoben|geupdatet|upgedatet
    |geupgradet / wir verschieben|verlegen|ändern|erhöhen|senken {s} auf
    {v} / zieht|zog nach|in {v} um
called off: wurde|ist|wird abgesagt|gestrichen / fällt aus / entfällt
is allergic to: ist|bin|sind allergisch gegen|auf {v} / ist|bin|sind gegen|auf {v} allergisch /
    hat|habe eine? allergie gegen {v} / reagiert|reagiere allergisch auf {v} /
    verträgt|vertrage|vertragen {v}
likes: mag|mögen|liebt|liebe|lieben|bevorzugt|bevorzuge|schätzt {v}
dislikes: hasst|hasse|verabscheut {v}
speaks: spricht|spreche|sprechen {v}
knows: kennt|kenne|beherrscht|beherrsche|kann {v}
plays: spielt|spiele|spielen {v}
drives: fährt|fahre|fahren einen|eine|ein {v}
gave up: hat|habe|haben {v} aufgegeben|abgeschafft|verkauft|abgemeldet|gekündigt|eingestellt /
    hat|habe mit {v} aufgehört
takes place: findet|finden immer? {v} statt / erscheint|erscheinen|tagt|probt {v} /
    trifft|treffen sich|uns am|um|jeden|immer {v} / trifft|treffen sich|uns {v} / ist|sind
    für|auf {v} geplant|angesetzt|terminiert
start time: beginnt|beginnen|startet|starten am|um|im {v} / fängt|fangen am|um|im {v} an / geht
    um|am {v} los
end date: endet|enden am|um|im|mit {v} / läuft|laufen am|um|bis|bis_zum {v} ab|aus /
    läuft|laufen bis|bis_zum {v} / ist|sind bis|bis_zum {v} gültig
opening time: öffnet|öffnen um|ab {v} / macht|machen um|ab {v} auf
closing time: schließt|schließen|schliesst um {v} / macht|machen um {v} zu
is written in: ist|sind|wurde|wird in {v} geschrieben|implementiert|programmiert|umgeschrieben
is hosted on: wird|ist|werden auf|bei|in {v} gehostet|betrieben|deployt / liegt|liegen bei {v}
runs on: läuft|laufen auf|mit|unter {v} / in|im|auf der|dem? {s} läuft|laufen {v}
departure time: fährt|fliegt|geht|startet um {v} ab?
uses: nutzt|nutze|nutzen|benutzt|benutze|benutzen|verwendet|verwende|verwenden|gebraucht {v} /
    setzt|setzen|setze auf {v} / setzt|setzen {v} ein / arbeitet|arbeiten mit {v}
is located in: liegt|liegen|steht|stehen|befindet|befinden sich? in|im|auf|am|bei|an {v} /
    ist|sind|bin in|im|auf|am|bei|an|beim {v} / hängt|parkt|parken in|im|auf|am {v}
studies: studiert|studiere {v}
goes to: studiert|studiere an {v} / besucht|besuche {v} / studiert|studiere an|in {v} /
    geht|gehe auf|in die|das|eine {v}
eats: isst|esse|essen {v}
drinks: trinkt|trinke|trinken {v}
on medication: nimmt|nehme {v}
has: hat|habe|haben|besitzt|besitze {v}
is: liegt|liegen bei {v} / ist|sind|bin|lautet|lauten|beträgt|betragen|bleibt|wurde {v}
""",
    words="""
telefonnummer=phone_number handynummer=phone_number nummer=number email=email mailadresse=email
e-mail-adresse=email e-mail=email mail=email adresse=address anschrift=address preis=price
kosten=cost gebühr=fee port=port frist=deadline deadline=deadline abgabe=deadline
abgabetermin=deadline abgabefrist=deadline stichtag=deadline chef=manager chefin=manager
vorgesetzter=manager vorgesetzte=manager frau=wife ehefrau=wife mann=husband ehemann=husband
partner=partner name=name alter=age hauptsitz=headquarters sitz=headquarters rolle=role
position=role beruf=profession titel=title sprache=language datenbank=database
besprechung=meeting treffen=meeting sitzung=meeting meeting=meeting termin=date
geburtstag=birthday größe=size gewicht=weight miete=rent gehalt=salary budget=budget
status=status version=version passwort=password farbe=color büro=office raum=room zimmer=room
wohnort=home arbeitgeber=employer arbeitsplatz=workplace katze=cat kater=cat hund=dog auto=car
wagen=car projekt=project bericht=report server=server dienst=service zahnarzt=dentist
arzt=doctor ärztin=doctor lehrer=teacher lehrerin=teacher leiter=leader leiterin=leader
teamleiter=team_leader teamleiterin=team_leader besitzer=owner inhaber=owner schule=school
wohnung=apartment haus=house tochter=daughter sohn=son schwester=sister bruder=brother
mutter=mother vater=father bus=bus zug=train flug=flight kurs=course vertrag=contract
zeitlimit=timeout timeout=timeout obergrenze=limit grenze=limit limit=limit hauptstadt=capital
sprint=sprint release=release lieferant=supplier anbieter=provider editor=editor stadt=city
land=country team=team abteilung=department essen=food getränk=drink film=film buch=book
lied=song sportart=sport sport=sport montag=Monday dienstag=Tuesday mittwoch=Wednesday
donnerstag=Thursday freitag=Friday samstag=Saturday sonnabend=Saturday sonntag=Sunday
montags=Monday dienstags=Tuesday mittwochs=Wednesday donnerstags=Thursday freitags=Friday
samstags=Saturday sonntags=Sunday januar=January februar=February märz=March april=April mai=May
juni=June juli=July august=August september=September oktober=October november=November
dezember=December euro=euros dollar=dollars franken=francs pfund=pounds prozent=percent
stunde=hour stunden=hours minute=minutes minuten=minutes sekunde=seconds sekunden=seconds
tag=day tage=days tagen=days woche=week wochen=weeks monat=month monate=months jahr=year
jahre=years jahren=years meter=meters kilometer=kilometers kilo=kilos kilogramm=kilograms
gramm=grams grad=degrees ein=one eins=one zwei=two drei=three vier=four fünf=five sechs=six
sieben=seven acht=eight neun=nine zehn=ten elf=eleven zwölf=twelve zwanzig=twenty mittag=noon
mitternacht=midnight täglich=daily wöchentlich=weekly monatlich=monthly pro=per alt=old
lang=long offen=open geschlossen=closed zu=closed behoben=fixed gelöst=resolved erledigt=done
fertig=done aktiv=active inaktiv=inactive aktiviert=enabled deaktiviert=disabled an=on aus=off
verheiratet=married ledig=single geschieden=divorced verlobt=engaged verwitwet=widowed
verfügbar=available vegetarier=vegetarian vegetarierin=vegetarian vegetarisch=vegetarian
veganer=vegan veganerin=vegan vegan=vegan öffentlich=public privat=private bezahlt=paid
unbezahlt=unpaid genehmigt=approved abgelehnt=rejected kaputt=broken defekt=broken krank=sick
gesund=healthy online=online
offline=offline rot=red blau=blue grün=green gelb=yellow schwarz=black weiß=white grau=gray
orange=orange lila=purple rosa=pink braun=brown arbeitslos=unemployed angestellt=employed
rentner=retired pensioniert=retired
""",
    rewritten=(
        (r"\b(ich|es|wie|was|das|er|sie)['’]s\b", r"\1 es"),
        (r"\bhab\b", "habe"),
        (r"\bich (wohn|arbeit|fahr|trink|geh|studier|spiel|benutz|nutz|mag)\b", r"ich \1e"),
        # the object in front: "die Doku haben wir nach Notion umgezogen"
        (r"^(?!wir\b|ich\b|man\b)([^,]{2,50}?) (habe|haben|hat) (wir|ich|man) ", r"\3 \2 \1 "),
        (r"\bums\b", "um das"),
        (r"\baufs\b", "auf das"),
        (r"\bins\b", "in das"),
    ),
    values=(
        (r"\b(?:um )?([01]?\d|2[0-4])[:.]([0-5]\d) ?uhr\b", r"\1:\2"),
        (r"\b(?:um )?([01]?\d|2[0-4]) uhr ([0-5]\d)\b", r"\1:\2"),
        (r"\b(?:um )?([01]?\d|2[0-4]) uhr\b", r"\1:00"),
        (r"\b(\d{1,2})\. (?=[a-zäöü])", r"\1 "),
        (r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b", r"\3-\2-\1"),
        (r"\b(?:am|den|dem|der|zum|im|ab|bis) (?=\d{1,2} |\d{4}-|\w+tag|mittwoch)", ""),
    ),
    favourite="lieblings",
)
