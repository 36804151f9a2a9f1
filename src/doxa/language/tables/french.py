"""The tables of French."""

from doxa.language.languages import Language

FRENCH = Language(
    code="fr",
    stemmer="french",
    common=(
        "deux trois quatre cinq sept huit neuf le la les un une des du de est sont suis "
        "était et ou ne pas plus maintenant désormais au aux en à dans avec sur par pour que "
        "qui se son sa ses mon ma mes notre nos je tu il elle nous vous ils elles a ai ont "
        "avons été habite travaille aussi mais comme depuis hier coûte s l d j n c m qu ce "
        "cette leur parle joue mange boit utilise utilisons appelle réunion être quel quelle "
        "où quand comment peut-être selon si lieu chez passé même y on très vers sous sans été "
        "fait "
        "mes tes ses nos vos ces cela ça encore tout tous toute leurs hier"
    ),
    articles="le|la|les|l|un|une|des",
    of="de|d|pour",
    me="je|j|moi|me|m",
    we="nous|on",
    my="mon|ma|mes",
    our="notre|nos",
    others="il|elle|ils|elles|lui|son|sa|ses|leur|leurs|ce|cela|ça|celui-ci|celle-ci",
    change=(
        "maintenant|désormais|dorénavant|à présent|actuellement|dès maintenant|à partir de "
        "(?:maintenant|demain|aujourd'hui|ce mois|lundi|mardi|mercredi|jeudi|vendredi|samedi"
        "|dimanche|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre"
        "|novembre|décembre)|depuis (?:peu|hier|lundi|mardi|mercredi|jeudi|vendredi|cette "
        "semaine|ce mois|ce matin|janvier|février|mars|avril|mai|juin|juillet|août|septembre"
        r"|octobre|novembre|décembre|aujourd'hui|quelques \w+|la \w+|le \w+)|dès (?:lundi"
        "|mardi|mercredi|jeudi|vendredi|demain|aujourd'hui)|à la place|à nouveau|de nouveau"
        "|dernièrement|aujourd'hui"
    ),
    besides=(
        "aussi|également|en plus|en outre|de plus|un autre|une autre|parfois|de temps en "
        "temps|un deuxième|une deuxième|un second|une seconde|par ailleurs|occasionnellement"
        "|aussi bien"
    ),
    times=(
        "la semaine dernière|le mois dernier|l'année dernière|l'an dernier|l'été dernier|hier"
        r"|avant-hier|récemment|il y a (?:un|une|deux|trois|quelques) \w+|cette semaine|cette "
        "année|ce mois-ci|enfin|finalement|officiellement|en fait|vient de(?= )|venons de(?= "
        ")|viens de(?= )|déjà|bien|tout juste|au fait|lundi dernier|toujours|vraiment"
    ),
    turns=(
        r"nouve\w+|ne \w+ plus|n'\w+ plus|arrêt\w+|chang\w+|déménag\w+|emménag\w+|pass(?:é|ée"
        r"|és|ons|e)|augment\w+|baiss\w+|mont(?:é|ée)|mise? à jour|migr\w+|remplac\w+"
        r"|repouss\w+|report\w+|avanc\w+|renouvel\w+|annul\w+|vend(?:u|ue|s)|mari(?:é|ée|és)"
        r"|divorc\w+|sépar\w+|répar\w+|re(?:marche|devenu|pris)\w*|au lieu de|finalement"
        r"|commenc\w+|renomm\w+|quitt\w+|abandonn\w+"
    ),
    ends=(
        r"ne(?= .*\bplus\b)|n(?= .*\bplus\b)|(?<!de )plus(?= (?:à|en|chez|de|au|dans|pour|sur"
        r"|le|la|l|mari\w+|allerg\w+)\b|$)|plus jamais"
    ),
    nots="ne|n|pas|jamais|aucun|aucune|ni",
    question=(
        r"\?\s*$|^(?:qui|que|quoi|quel|quelle|quels|quelles|quand|où|comment|pourquoi|combien"
        r"|est-ce|si|et si|imagine|imaginons|supposons|devrait-on|devrions|pourrait-on)\b"
    ),
    hedge=(
        r"\w{2,}(?:erait|irait|drait)|comme si|à tort|par erreur|haha|mdr|pour rire|si seulement|"
        "peut-être|probablement|sans doute|possiblement|éventuellement|il se peut|pourrait"
        "|pourrait|pourraient|pourrais|devrait|devrais|devrions|devraient|veut|veux|voudrait"
        "|voudrais|aimerait|aimerais|souhaite|souhaitent|espère|espérons|envisage|envisagent"
        "|envisageons|songe|pense|penses|pensons|crois|croit|prévoit|prévoyons|compte "
        r"(?=\w+er)|si|presque|serait|aurait|rêve|rêvent|semble|paraît|suppose|essaie|tente|va"
        r" (?=\w+(?:er|ir|re)\b)|vais (?=\w+(?:er|ir|re)\b)|allons (?=\w+er)|pas encore|par "
        "exemple|plaisante|blague|postulé|postule|hésite|pas sûr|pas sûre|bientôt|on teste"
        "|nous testons|testons|évaluons|soi-disant|apparemment|imaginons|faillir|failli"
    ),
    report=(
        "dit|disent|a dit|disait|selon|affirme|a affirmé|prétend|raconte|a raconté|entendu "
        "dire|entendu|demande|a demandé|rumeur|rumeurs|écrit que|mentionne|a mentionné"
        "|d'après|chuchoté|annoncé|annonce|dans (?:le|ce) (?:roman|film|livre|rêve|jeu)|dans "
        "(?:l'histoire|la série|l'exemple)"
    ),
    opening=(
        "au fait|mise à jour|info|pour info|note|correction|attention|ah|oh|non|oui|bon|ok"
        "|désolé|désolée|pardon|important|nouvelles|bonne nouvelle|rappel|et|mais|donc|alors"
        "|salut|bonjour|pour information|petite correction|changement|changement de plan|à "
        "noter|en fait"
    ),
    instead=(
        "au lieu de {old}|à la place de {old}|plutôt que {old}|et non plus {old}|et non {old}"
        "|et pas {old}|et plus {old}|,non plus {old}|,plus {old}|,pas {old}|,non {old}|,avant"
        " {old}"
    ),
    joins="et|mais",
    new="nouve(?:au|l|lle|aux|lles)",
    roles=(
        "(?:chef|cheffe|directeur|directrice|professeure?|ingénieure?|médecin|avocate?"
        "|infirmière?|infirmier|traducteur|traductrice|étudiante?|serveur|serveuse|gérante?"
        "|présidente?|architecte|cuisinier|cuisinière|développeur|développeuse|graphiste"
        "|journaliste|écrivain|vendeur|vendeuse|chauffeur|assistante?|stagiaire|capitaine"
        "|entraîneur|ministre|comptable|consultante?|analyste|enseignante?|responsable)(?: "
        ".*)?"
    ),
    contrast="mais",
    phrases="""
moved to: a|ai|avons|ont déménagé de {old} à|en|au|aux|vers {v} /
    a|ai|avons|ont déménagé|emménagé à|en|au|aux|vers|dans {v} / est|suis|sont
    parti|partie vivre|habiter à|en|au|aux {v} / se|me est|suis installé|installée|installés
    à|en|au|aux|dans {v} / se|me installe à|en|au|aux {v} / a déplacé|transféré son siège à|en
    {v} / déménage|emménage à|en|au {v}
moved away from: a|ai quitté {v}
lives in: habite|habites|habitent|vit|vis|vivent|réside|demeure à|en|au|aux|dans|chez {v} / a
    son siège à|en|au {v} / est basé|basée|domicilié|domiciliée|implantée|implanté à|en|au {v} /
    habite|habitent {v}
joined: a|ai commencé|débuté chez|à {v} / a|ai commencé à travailler chez|pour|à {v} / a|ai
    rejoint {v} / rejoint {v} / a|ai été embauché|embauchée|recruté|recrutée par|chez {v} /
    est|suis passé|passée|entré|entrée chez {v} / a|ai trouvé|accepté|décroché un *
    poste|emploi|travail|job chez|à {v} / a|ai un nouveau poste|emploi|travail|job chez {v} /
    commence chez {v}
resigned from: a|ai démissionné de|chez {v} / quitte {v} / a été licencié|licenciée de|par|chez
    {v} / est|suis parti|partie de chez {v}
works as: travaille|travailles comme {v} / travaille|exerce en tant que {v} / exerce le métier
    de {v}
works at: travaille|travailles|travaillent|bosse chez|pour|à|au|dans {v} / est|suis
    employé|employée chez|par|de {v}
became: a|ai été promu|promue|nommé|nommée {v} / est|suis devenu|devenue {v} / devient {v}
is=working: marche|marchent|remarche|refonctionne|fonctionne
is=married: se|me|nous est|suis|sommes marié|mariée|mariés / se|me|nous est|suis|sommes
    marié|mariée|mariés samedi|dimanche|vendredi|hier|le|en|cet|cette *
is=divorced: a|ai|ont divorcé
married: se|me est|suis marié|mariée à|avec {v} / a|ai épousé {v} / épouse {v}
is married to: est|suis marié|mariée à|avec {v}
divorced: a|ai divorcé de|avec {v} / est|suis divorcé|divorcée|séparé|séparée de {v} / se|me
    est|suis séparé|séparée de {v} / {s} et {v} se sont séparés / {s} et {v} ont divorcé / {s} et
    {v} sont divorcés|séparés /
    {s} et {v} se sont séparés
renamed to: a|ont été renommé|renommée|rebaptisé|rebaptisée en? {v} / avons|ont|a|ai
    renommé|rebaptisé {s} en {v}
is called: se|me appelle|appelles|appellent|nomme {v}
costs: coûte|coûtent|vaut {v} / est|sont à {v} euros|€
weighs: pèse|pèsent {v}
is due on: est|sont dû|due|dus|dues|attendu|attendue le|pour_le|pour|avant_le {v} / doit être
    rendu|rendue|remis|remise|livré|livrée le|pour_le|avant_le {v} / est|sont à rendre
    le|pour_le|avant_le|pour {v}
takes: dure|durent|prend|prennent {v}
listens on port: écoute|tourne|répond|est|fonctionne sur le? port {v} / utilise le port {v}
reports to: rapporte|relève|dépend à|de {v} / rend compte à {v} / est rattaché|rattachée à {v}
is led by: est|sont dirigé|dirigée|mené|menée|géré|gérée par {v}
leads: dirige|dirigent|mène|gère {v}
switched to: a|avons|ai|ont|est|sommes|suis|sont migré|passé|passée|passés|basculé de {old}
    à|vers|sur {v} / a|avons|ai|ont|est|sommes|suis|sont migré|passé|passée|passés|basculé
    à|vers|sur|au|aux {v} / passe|passons|passent de {old} à {v} / passe|passons|passent à|sur
    {v} / a|avons|ai|ont adopté {v}
switched to: {old} a été remplacé|remplacée par {v} comme|en_tant_que {s} / avons|ont|a|ai
    remplacé|échangé mon|ma|mes|son|sa|le|la|les|notre? {old} par|contre {v} /
    ai|a|avons|ont changé mon|ma|mes|son|sa|le|la|les|notre? {old} pour|contre {v} / {old} a été
    remplacé|remplacée par {v} / {v} a remplacé {old} / {v}
    remplace {old}
changed to: a|ont été changé|changée|déplacé|déplacée|reporté|reportée|repoussé|repoussée|avancé
    |avancée|augmenté|augmentée|réduit|réduite|porté|portée|fixé|fixée|prolongé
    |prolongée|décalé|décalée|relevé|relevée|baissé|baissée|modifié|modifiée
    |transféré|transférée de {old} à|au|en|vers|sur {v} / a|ont été
    changé|changée|déplacé|déplacée|reporté|reportée|repoussé|repoussée|avancé
    |avancée|augmenté|augmentée|réduit|réduite|porté|portée|fixé|fixée|prolongé
    |prolongée|décalé|décalée|relevé|relevée|baissé|baissée|modifié|modifiée
    |transféré|transférée à|au|en|vers|sur|dans|pour|jusqu'à|jusqu'au {v} / est|sont
    changé|changée|déplacé|déplacée|reporté|reportée|repoussé|repoussée|avancé
    |avancée|passé|passée|passés|passées|décalé|décalée|fixé|fixée de {old} à|au|en|vers {v} /
    est|sont changé|changée|déplacé|déplacée|reporté|reportée|repoussé|repoussée|avancé
    |avancée|passé|passée|passés|passées|monté|montée|descendu|descendue|tombé
    |tombée|décalé|décalée|fixé|fixée à|au|en|vers|sur|le {v} / passe|monte|descend|augmente de
    {old} à {v} / passe|monte|descend à|au|sur {v} / a augmenté|baissé|changé|diminué de {old} à
    {v} / a augmenté|baissé|changé|diminué à|pour {v} / avons|ont|a|ai
    changé|déplacé|reporté|repoussé|avancé|augmenté|réduit|porté|fixé|prolongé
    |décalé|baissé|migré|transféré|passé|actualisé|monté|augmenté {s} de {old} à|au|en|vers|sur {v}
    / avons|ont|a|ai
    changé|déplacé|reporté|repoussé|avancé|augmenté|réduit|porté|fixé|prolongé
    |décalé|baissé|migré|transféré|passé|déménagé|actualisé|monté {s} à|au|en|vers|sur|dans|pour {v}
called off: a été annulé|annulée|supprimé|supprimée / est annulé|annulée
is allergic to: est|suis|sont allergique|allergiques à|au|aux {v} / a|ai une allergie à|au|aux
    {v}
likes: aime|adore|préfère|préfères {v}
dislikes: déteste|hait {v}
speaks: parle|parles|parlent {v}
knows: connaît|connais|maîtrise|sait {v}
plays: joue|jouent de|du|à|au|aux {v}
drives: conduit|conduis|roule un|une|en {v}
gave up: a|ai|avons|ont arrêté|abandonné|vendu|cessé {v} / a|ai|avons|ont arrêté|cessé de {v}
takes place: a|ont lieu le|à|tous_les|chaque|au|aux {v} / a|ont lieu {v} / se
    tient|tiendra|déroule le|à|tous_les|chaque|dans {v} / se tient|déroule {v} / est|sont
    prévu|prévue|prévus|fixé|fixée|programmé|programmée le|à|pour_le|pour|au {v} / nous nous
    réunissons le|tous_les|chaque {v} / on se voit|retrouve le|tous_les {v}
start time: commence|débute|démarre à|le|en {v} / commence|débute {v}
end date: finit|termine|se_termine|expire à|le|en {v} / se_termine|se_achève à|le|en {v}
opening time: ouvre|ouvrent à {v}
closing time: ferme|ferment à {v}
is written in: est|a été écrit|écrite|développé|développée|réécrit|réécrite|codé|codée en {v}
is hosted on: est|sont hébergé|hébergée|déployé|déployée sur|chez {v} /
    hébergeons|héberge|déployons {s} sur|chez {v}
runs on: tourne|tournent|fonctionne sur|sous|avec {v} / en|sur|dans {s} tourne {v}
departure time: part|partent|décolle à {v}
uses: utilise|utilises|utilisons|utilisent|emploie {v} / se sert de {v} / travaillons avec {v}
is located in: est|sont|suis|se_trouve|se_situe à|au|en|dans|sur|chez {v} / se trouve|situe
    à|au|en|dans|sur {v}
studies: étudie|étudies {v}
goes to: étudie|étudies à|au {v} / fréquente {v} / va à|au {v}
eats: mange|manges {v}
drinks: boit|bois {v}
on medication: prend|prends {v}
has: a|ai|ont|avons|possède {v}
is: est|sont|suis|sera|reste|devient {v} / s'élève à {v}
""",
    words="""
en_panne=broken cassé=broken cassée=broken
téléphone=phone numéro=number email=email courriel=email mail=email e-mail=email adresse=address
prix=price coût=cost tarif=fee port=port échéance=deadline délai=deadline limite=limit
chef=manager cheffe=manager patron=boss patronne=boss manager=manager femme=wife épouse=wife
mari=husband époux=husband nom=name âge=age siège=headquarters rôle=role poste=role
profession=profession métier=profession titre=title langue=language langage=language
réunion=meeting rendez-vous=appointment date=date anniversaire=birthday taille=size poids=weight
loyer=rent salaire=salary budget=budget statut=status état=status version=version couleur=color
bureau=office salle=room chambre=room employeur=employer chat=cat chatte=cat chien=dog
chienne=dog voiture=car projet=project rapport=report serveur=server service=service
dentiste=dentist médecin=doctor professeur=teacher responsable=lead propriétaire=owner
école=school appartement=apartment maison=house fille=daughter fils=son sœur=sister
frère=brother mère=mother père=father train=train vol=flight cours=course contrat=contract
capitale=capital fournisseur=provider éditeur=editor ville=city pays=country équipe=team
préféré=favorite préférée=favorite base_de_données=database date_limite=deadline
date_de_rendu=deadline numéro_de_téléphone=phone_number date_d_échéance=deadline
mot_de_passe=password plat=food nourriture=food boisson=drink film=film livre=book chanson=song
sport=sport heure=time heures=hours lundi=Monday mardi=Tuesday mercredi=Wednesday jeudi=Thursday
vendredi=Friday samedi=Saturday dimanche=Sunday lundis=Monday mardis=Tuesday mercredis=Wednesday
jeudis=Thursday vendredis=Friday samedis=Saturday dimanches=Sunday janvier=January
février=February mars=March avril=April mai=May juin=June juillet=July août=August
septembre=September octobre=October novembre=November décembre=December euro=euros euros=euros
dollars=dollars francs=francs livres=pounds minute=minutes minutes=minutes seconde=seconds
secondes=seconds jour=day jours=days semaine=week semaines=weeks mois=months an=year ans=years
années=years mètres=meters kilomètres=kilometers kilos=kilos kilo=kilos grammes=grams
degrés=degrees deux=two trois=three quatre=four cinq=five six=six sept=seven huit=eight
neuf=nine dix=ten onze=eleven douze=twelve vingt=twenty midi=noon minuit=midnight par=per
ouvert=open ouverte=open fermé=closed fermée=closed résolu=resolved corrigé=fixed actif=active
active=active inactif=inactive activé=enabled activée=enabled désactivé=disabled
désactivée=disabled marié=married mariée=married célibataire=single divorcé=divorced
divorcée=divorced disponible=available végétarien=vegetarian végétarienne=vegetarian végan=vegan
végane=vegan vegan=vegan public=public publique=public privé=private privée=private payé=paid
payée=paid approuvé=approved approuvée=approved refusé=rejected refusée=rejected malade=sick
rouge=red bleu=blue bleue=blue vert=green verte=green jaune=yellow noir=black noire=black
blanc=white blanche=white gris=gray grise=gray orange=orange violet=violet violette=violet
rose=pink marron=brown brun=brown retraité=retired retraitée=retired
""",
    own="je|j",
    ours="nous|on",
    rewritten=(
        (r"\b(j|l|d|n|s|m|t|c|qu)['’] ?", r"\1 "),
        (r"\bs (?=(?:est|appelle|installe|appellent)\b)", "se "),
        (r"\bm (?=(?:appelle|suis|installe)\b)", "me "),
        (r"\bdu\b", "de le"),
        (r"\bc est\b", "ce est"),
        (r"^([^,]{2,50}), ?ce est ", r"\1 est "),  # "le chef, c'est Jules"
        (r"^ce est ([^,]{2,50}?) qui ", r"\1 "),  # "c'est Jules qui dirige l'équipe"
        (r"\bmise? à jour\b", "actualisé"),
    ),
    values=(
        (r"\b(?:à )?([01]?\d|2[0-4]) ?(?:h|heures?) ?([0-5]\d)\b", r"\1:\2"),
        (r"\b(?:à )?([01]?\d|2[0-4]) ?(?:h|heures)\b", r"\1:00"),
        (r"\b1er (?=\w)", "1 "),
        (r"\b(?:le|les|au) (?=\d{1,2} |lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)", ""),
        (r"\btous les (?=\w+dis?\b|dimanche)", ""),
        (r"\bpour ?cent\b", "%"),
        (r"^de (?=\d)", ""),
        (" pour ", " for "),
        (r"^(\d+) ((?:rue|avenue|boulevard|place|chemin|quai) .*)", r"\2 \1"),
    ),
)
