"""Frequent words of English, German, French and Spanish, as stems: a word of a question that is
one of them is not taken for a misspelling of another, nor by itself for the name of a project.

They include frequent names ("Alice", "Berlin"), which are correctly spelt too. What is not a name
is listed in language/not_names.py.

The English ones are the first 8,000 words of the vocabulary of BERT (uncased, Apache-2.0), which
lists them by frequency. Words of fewer than three letters are left out.
"""

from __future__ import annotations

from functools import cache

from doxa.base.words import STOP_WORDS, stem

_ENGLISH = """
    aaron abandon abbey abbi abbot abc abdul abil abl aboard abolish aborigin abort abov abraham
    abroad abrupt absenc absent absolut absorb abstract abu abus academ academi accent accept
    access accid accident acclaim accommod accompani accomplish accord account accredit accur
    accuraci accus ace achiev acid acknowledg acoust acquir acquisit acr across act action activ
    activist actor actress actual acut adam adapt add addit address adelaid adjac adjust
    administ administr admir admiss admit adopt adrian adult advanc advantag adventur advertis
    advic advis advisor advisori advoc aerial afc affair affect affili afford afghanistan afl
    afraid africa african aftermath afternoon afterward against age agenc agenda agent aggreg
    aggress agn ago agre agreement agricultur ahead ahm ahmad aid aim ain air airborn aircraft
    airfield airlin airport aka alabama alan alarm alaska albani albania albanian albert alberta
    album alcohol alec alert alex alexand alexandra alexandria alfr algebra algeria algorithm
    ali alic alien alik aliv allan alleg allen alley alli allianc allison allmus alloc allow
    alma almost alon along alongsid alpha alpin alreadi alright altar alter altern although
    altitud alto altogeth alumni alway amanda amateur amaz amazon ambassador amber ambul amelia
    amend america american ami ammunit among amongst amount amsterdam amus ana analysi ancestor
    ancestri anchor ancient anderson andi andr andrea andrew angel angela anger angl anglican
    anglo angri anim ankl ann anna anni anniversari announc annual anonym anoth answer antarct
    antholog anthoni anti anticip anton antonio anxieti anxious anybodi anymor anyon anyth
    anyway anywher apart apollo app appar appeal appear appl appli applic appoint appreci
    approach appropri approv approxim april arab arabia arc arcad arch archaeolog archbishop
    archer architect architectur archiv arctic area arena argentin argentina argu argument ari
    aria arizona arkansa arm armenia armenian armi armor armour armstrong arnold aros around
    arrang array arrest arriv arrow arsenal art arthur articl artifact artifici artilleri artist
    artwork ash ashley asia asian asid ask asleep aspect ass assassin assault assembl assess
    asset assign assist associ assum assumpt assur asylum ate athen athlet atlant atlanta atlas
    atmospher atom atop attach attack attempt attend attent attitud attorney attract attribut
    auckland auction audienc audio auditorium august aunt austin australia australian austria
    austrian author auto autobiographi automat automobil autonom autumn auxiliari ava avail
    avenu averag aviat avoid aw awak awar award away awkward axi azerbaijan babe babi bach
    bachelor back background backup backward bacon bacteria bad badg bag bailey baker balanc
    baldwin ball ballad ballet ballot baltic baltimor ban band bang bangladesh bank bankruptci
    banner baptist bar barbara barcelona bare bark barn baron baronet baroqu barrack barrel
    barri barrier base basebal basement basi basic basin basket basketbal bass bassist bastard
    bat bate bath bathroom batman battalion batteri battl bavaria bay bbc bce be beach beam bear
    beard beast beat beaten beatl beauti becam beck becom bed bedroom bee beer beetl began begin
    begun behalf behavior behaviour behind beij belfast belgian belgium belgrad belief believ
    bell belli belong belov below belt ben bench bend beneath benefit bengal bengali benjamin
    bennett bent berkeley berlin bernard berri besid best bet beta beth better betti between
    beyond bibl biblic bicycl bid big bigger biggest bike bill billboard billi billion bin bind
    biographi biolog bird birmingham birth birthday bishop bit bitch bite bitter black blade
    blair blake blame blank blanket blast bleed bless blew blind blink block blog blond blood
    bloodi blow blown blue board boat bob bobbi bodi boe bold bolt bomb bombard bomber bond bone
    bonus book boom boot booth border bore bori born borough bosnia boss boston both bother
    bottl bottom bought boulevard bound boundari bout bow bowl box boxer boy boyfriend brad
    bradford bradi bradley brain branch brand brandon brass brave brazil brazilian bread break
    breakfast breast breath breed breez brian brick bride bridg brief briefli brien brigad
    brigadi bright brighton brilliant bring brisban bristol britain british broad broadcast
    broadway broke broken bronz brook brooklyn bros brother brought brow brown bruce bruno
    brunswick brush brussel bryan buck budapest buddhism buddhist buddi budget bueno buffalo
    build built bulgaria bulgarian bulk bull bullet bunch burden bureau buri burial burk burma
    burn burnt burst burton bus buse bush busi businessman butler butt butterfli button buy bye
    byzantin cab cabin cabinet cabl caesar cafe cage cain cairo cake cal calcul caleb calendar
    calgari california call calm calvin cam cambridg came camera cameron camp campaign campbel
    campus canada canadian canal cancel cancer candi candid cannon cannot canon canterburi
    canton canva canyon cap capabl capac cape capit capita capitol captain captur car carbon
    card cardiff cardin care career cargo caribbean carl carlo carmen carnegi carniv carol
    carolin carolina carpent carpet carri carriag carrier carrol carson cart carter cartoon carv
    case casey cash casino cassi cast castl casual casualti cat catalogu catch categori cathedr
    catherin cathol cattl caught caus cavalri cave cbs cdp ceas cedar ceil celebr cell cello
    celtic cement cemeteri census cent center centr central centuri ceo ceremoni certain certif
    certifi chad chain chair chairman challeng chamber champion championship chan chanc
    chancellor chang channel chao chapel chapman chapter charact character characterist charg
    charit chariti charl charleston charli charlott charm chart charter chase cheap check cheek
    chees chef chelsea chemic chemistri chen cherri chess chest chester chi chicago chicken
    chief child childhood children chile chill chin china chines chip chloe chocol choic choir
    choos chorus chose chosen chris christ christian christin christma christoph chronicl chuck
    chuckl church churchil cia cigarett cincinnati cinema circl circuit circul circular circumst
    circus citat cite citi citizen citizenship civic civil civilian claim clair clan clara clare
    clark class classic classif classifi classroom claud claus claw clay clean clear clench
    clerk cleveland click client cliff climat climb clinic clinton clock close closer closest
    closet closur cloth cloud club clue cluster coach coal coalit coast coastal coat cock code
    coffe cognit cohen coin col cold cole coleman colin collabor collaps collar colleagu collect
    collector colleg collegi collin cologn colombia colonel coloni color colorado colour colt
    columbia columbus column com combat combin come comedi comedian comfort comic command
    commenc comment commentari commerc commerci commiss commission commit committe common
    commonwealth commune communic communist communiti compact compani companion compar
    comparison compens compet competit competitor compil complain complaint complet complex
    complic compon compos composit compound comprehens compris comput con conceiv concentr
    concept concern concert concerto conclud conclus concret condemn condit conduct conductor
    confeder confer confid configur confirm conflict confus congo congreg congress congression
    conjunct connect connecticut connor conquer conquest conrad conscious consecut consensus
    consent consequ conserv consid consider consist consol consolid conspiraci constant constitu
    constitut construct consult consum consumpt contact contain contemporari content contest
    context contin continent continu contract contrari contrast contribut control controversi
    convent convers convert convict convinc convoy cook cool cooper coordin cop copa copenhagen
    copi copper copyright coral cord core cork corn cornel corner cornwal corp corpor corps
    correct correspond corridor corrupt cost costa costum cottag cotton couch council councillor
    counsel count counter counti countri countrysid coup coupl courag cours court courthous
    courtyard cousin cover coverag cow cox crack craft craig crane crap crash crater crawford
    crazi cream creat creation creativ creator creatur credit creek crest crew cri cricket crime
    crimin crimson crisi criteria critic criticis croatia croatian crop cross crow crowd crown
    crucial cruel cruis cruiser crush cruz crystal cuba cuban cult cultur cup cure curios
    curious curl currenc current curriculum curs curtain curti curv custodi custom cut cute cycl
    cyclon cylind cyprus czech dad daddi dagger daili daisi dakota dale dalla dam damag dame
    damn damon damp dan dana danc dancer danger daniel danish danni dant dare dark darker darl
    darwin das dash data databas date daughter dave davi david dawn dawson day dead deal dealer
    dealt dean dear death debat debri debt debut decad deceas decemb decent decid decis deck
    declar declin decor decre decreas dedic dee deem deep deeper deepli deer defeat defenc
    defend defens defin definit degre del delawar delay deleg delhi deliber delic deliv deliveri
    della delta demand demo democraci democrat demolish demon demonstr den deni denmark denni
    dens densiti dental denver depart departur depend depict deploy deposit depot depress depth
    deputi der derbi derek deriv des descend descent describ descript desert deserv design desir
    desk desper despit destin destini destroy destruct detach detail detect determin detroit
    deutsch develop devic devil devon devot diagnos diagnosi dialect dialogu diamet diamond
    diana diari dick dictionari die diego diesel diet differ difficult difficulti dig digit
    dimens dimension din dine dinner dioces diploma diplomat direct director dirt dirti disabl
    disappear disappoint disast disband disc disciplin discontinu discov discoveri discrimin
    discuss diseas dish disk dismiss disney disord display disput dissolv distanc distant
    distinct distinguish distract distribut district dive divers divid divin divis divorc dixon
    dna doc dock doctor doctrin document documentari dog doi doll dollar domain dome domest
    domin dominican donald donat donna door doorway dorothi dos dot doubl doubt doug dougla dove
    download downstair downtown doyl dozen draft drag dragon drain drake drama dramat drank draw
    drawn dream dress drew dri drift drink drive driven driver driveway drop drove drug drum
    drummer drunk dual dub dubai dublin duchess duchi duck due dug duke dull duncan duo durat
    dure durham dust dutch duti dvd dwarf dylan dynam dynasti each eager eagl ear earl earli
    earlier earliest earn earth earthquak eas easi easier easili east easter eastern eat eaten
    echo econom economi ecuador eddi eden edg edgar edinburgh edit editor editori edmonton
    edmund educ edward edwin effect effici effort egg egypt egyptian eight eighteen eighth
    either elabor elbow elder eldest eleanor elect elector electr electron eleg element
    elementari elena eleph elev eleven elig elimin elit elizabeth ellen elli elliott els
    elsewher email embark embarrass embassi embed embrac emerg emergenc emigr emili emma emmi
    emot emperor emphasi empir employ employe empress empti enabl enclos encount encourag end
    endang endem endless enemi energi enforc engag engin england english enhanc enjoy enlist
    enorm enough enrol ensembl ensur enter enterpris entertain entir entiti entitl entranc
    entrepreneur entri envelop environ environment enzym epic episcop episod equal equat equip
    equiti equival era erect eric erik ernest ernst error escap escort especi espn essay essenc
    essenti essex est establish estat estim estonia etc etern ethan ethic ethiopia ethnic eugen
    euro europ european eva evalu evan evangel eve even evening event eventu ever everi
    everybodi everyday everyon everyth everywher evid evil evolut evolv exact exam examin exampl
    excel except excess exchang excit exclus excus execut exercis exhaust exhibit exil exist
    exit expand expans expect expedit expel expens experi experienc experiment expert expertis
    explain explan explod explor explos export expos exposur express extend extens extent
    exterior extern extinct extra extraordinari extrem eye eyebrow fabric facad face facebook
    facil facilit fact faction factor factori faculti fade fail failur faint fair fairi faith
    fake fall fallen fals fame famili familiar famous fan fanci fantasi fantast far farm farmer
    farther fashion fast faster fastest fat fatal fate father fault favor favorit favour
    favourit fbi fear feast feat featur februari fed feder fee feed feel feet felix fell fellow
    fellowship felt femal feminist fenc ferdinand ferguson fernando ferri festiv fever few fewer
    fiction field fierc fifa fifteen fifth fifti fight fighter figur fiji file filipino fill
    film filter fin final finalist financ financi find fine finest finger finish finit finland
    finn finnish fire firm first fiscal fish fisher fist fit five fix flag flagship flame flash
    flat fled flee fleet flesh fletcher flew fli flight flip float flood floor flora florenc
    florida flow flower flown fluid flute focus fog fold folk follow food fool foot footag
    footbal footstep forb forbidden forc ford forehead foreign forest forev forget forgiv forgot
    forgotten fork form formal format former formula fort forth forti fortress fortun forum
    forward fossil foster fought found foundat founder fountain four fourteen fourth fox
    fragment frame framework franc francesco franchis franci francisco franco francoi frank
    frankfurt franklin franz fraser fraud freak fred frederick free freed freedom freeli freeman
    freestyl freeway freight french frequenc frequent fresh freshman freyja friday friedrich
    friend friendship frighten frog front frontier frost frown froze frozen fruit frustrat fuck
    fuel full fulli fun function fund fundament funer funni fur furi furious furnitur further
    furthermor fusion futur gabriel gaelic gage gain galaxi galleri game gameplay gang gap garag
    garcia garden gari garrett garrison gas gasp gastropod gate gather gaug gave gavin gay gaze
    gazett gear gen gender gene genera general generat genesi genet geneva genius genr gentl
    gentleman gentlemen genuin genus geoffrey geograph geographi geolog geometri georg georgia
    georgian gerald gerard german germani gestur get ghana ghost giant gibson gift gilbert
    giovanni girl girlfriend give given glacier glad glanc glare glasgow glass glen glenn global
    globe glori gloria glow gmina go goal goalkeep god goddess goe gold golden golf gone gonna
    gonzalez good goodby googl gordon gorgeous gospel got gothic gotta gotten govern government
    governor grab grace grade gradual graduat graham grain grammar grammi grand grandfath
    grandmoth grandson granit grant graph graphic grasp grass grate grave gravel graviti gray
    great greater greatest greec greek green greet greg gregori grew grey grid grief griffin
    grin grip groan gross ground group grove grow growl grown growth guarante guard guardian
    guess guest guid guidanc guidelin guild guilt guilti guinea guitar guitarist gulf gun gut
    guy gym gymnasium habit habitat hair hal half halfway halifax hall hallway halt ham hamburg
    hamilton hamlet hammer hammond hampshir hampton han hand handl handsom hang hank hanna
    hannah happen happi happili harbor harbour hard harder hardi hardwar harm harmoni harold
    harper harri harrison harsh hart harvard harvest harvey hat hatch hate hatr haunt hawaii
    hawk hay head headquart heal health healthcar healthi hear heard heart heat heath heather
    heaven heavi heavili heavyweight hebrew hectar hector heel height heinrich heir held helen
    helena helicopt hell hello helmet help henc henderson henri herald herbert heritag herman
    hero herself herzegovina hesit hey hid hidden hide high higher highest highland highlight
    highway hill himself hindi hindu hint hip hire hispan hiss histor histori historian hit
    hitler hiv hms hockey hold holden holder hole holi holiday holland holli hollow hollywood
    holm holocaust home homeland homeless homer hometown hon honest honey hong honor honorari
    honour hood hook hop hope hopkin horizon horizont horn horribl horror hors hospit host
    hostil hot hotel hour hous household houston howard howev http hub hudson hug huge hugh hugo
    huh hull human humanitarian humor hundr hung hungari hungarian hunger hungri hunt hunter
    hurl hurri hurrican hurt husband hybrid hydrogen hypothesi ian iata ibm ibn ice iceland
    idaho idea ideal ident identif identifi idiot idol ignor iii ill illeg illinoi illustr imag
    imagin immedi immigr immun impact imperi implement import impos imposs impress imprison
    improv inaugur inc inch incid includ inclus incom incorpor increas incred incumb inde
    independ index indi india indian indiana indianapoli indic indigen individu indo indonesia
    indonesian indoor induc induct industri infant infantri infect infinit influenc influenti
    inform infrastructur inhabit inherit initi injur injuri ink inland inn inner inning innoc
    innov input inquiri insan inscript insect insid insist inspect inspector inspir instal
    instanc instant instead institut instruct instructor instrument insur intact integr
    intellectu intellig intend intens intent inter interact interchang interest interfac
    interfer interim interior intermedi internal internat internet interpret interrupt intersect
    interstat intervent interview intim introduc introduct invad invas invent invest investig
    investor invis invit involv ion iowa ira iran iranian iraq iraqi ireland iri irish iron
    isaac isabella isbn isl islam island iso isol isra israel issu istanbul itali italian item
    ivan ivi ivori jace jack jacket jacki jackson jacob jacqu jail jake jam jamaica jame jami
    jan jane janeiro janet januari japan japanes jare jason java jaw jay jazz jealous jean jeff
    jefferson jeffrey jenkin jenni jennif jeremi jerk jerom jerri jersey jerusalem jess jessi
    jessica jesus jet jew jewish jill jim jimmi jin joan job joe joel joey johann john johnni
    johnson johnston join joint joke jon jona jonathan jone jordan jorg jose joseph josh joshua
    journal journalist journey joy juan judg judgment judici juic jule juli julia julian julius
    jump junction june jungl junior juri jurisdict justic justin kane kansa karen karl kat kate
    katherin kati kay keen keep keeper keith kelli ken kennedi kenneth kenni kent kentucki kenya
    kept kerala kerri kevin key keyboard khan kick kid kidnap kill killer kilomet kilometr kim
    kind king kingdom kingston kirk kiss kit kitchen knee knew knife knight knock knockout knot
    know knowledg known kong korea korean kosovo krishna kumar kurt kyle kyli lab label labor
    laboratori labour lack ladder ladi laid lake lamp lanc lancashir lancast land landmark
    landscap lane lang languag lanka lap larg larger largest larri larva las laser last late
    later lateral latest latin latino latter laugh laughter launch laura lauren laurenc law lawn
    lawrenc lawsuit lawyer lay layer layout lead leader leadership leaf leagu lean learn leas
    least leather leav lebanon lectur led lee leed left leg legaci legal legend legendari legion
    legisl legislatur legitim leicest leipzig len length leo leon leonard les lesli less lesser
    lesson let letter level lewi liam liber liberti librari licenc licens lick lie lieuten life
    lifestyl lifetim lift liga light lighter lighthous lightn like likewis lili limb limeston
    limit lin lincoln linda line linear liner lineup link linux lion lip liquid lisa list listen
    lit liter literaci literari literatur lithuania lithuanian littl liu live liver liverpool
    livestock liz lloyd load loan lobbi local locat lock locomot lodg log logan logic logo
    london lone long longer longest longtim look loop loos lopez lord los lose loser loss lost
    lot lou loud louder loui louis louisiana louisvill loung love lover low lower lowest loyal
    loyalti ltd luca luci luck lucki ludwig lui luke lunch lung lust luther lutheran luxembourg
    luxuri lynch lynn lyon lyric mac macdonald macedonia machin machineri mack mackenzi mad
    madam made madison madonna madrid mae magazin maggi magic magnet magnitud magnus maid maiden
    mail main mainland mainstream maintain mainten majesti major make maker makeup malaysia
    malcolm male mall malta mama man manag manchest mandat mandatori manga manhattan mani manila
    manitoba mann manner manor mansion manual manuel manufactur manuscript map mapl mar marathon
    marbl marc march marco marcus margaret margin mari maria marin marina mario marion maritim
    mark market marri marriag marsh marshal martha martial martin martinez marvel maryland mask
    mason mass massachusett massacr massiv master match mate materi matern math mathemat matrix
    matt matter matthew matur mauric max maximum maxwel may maya mayb mayor mcdonald meal mean
    meant meanwhil measur meat mechan medal media median medic medicin mediev mediterranean
    medium meet mel melbourn melissa melodi member membership membran memori memphi men mental
    mention mentor merced merchant merci mercuri mere meredith merg merger merit mess messag met
    metal meter method methodist metr metro metropolitan mexican mexico meyer mhz mia miami
    michael michel michell michigan mick mickey microsoft mid middl midfield midnight might
    mighti migrat miguel mike mikhail milan mild mile militari militia milk mill millennium
    miller million milton milwauke min mind mine miner mini minim minimum minist ministri
    minneapoli minnesota minor minut miracl miranda mirror miss missil mission missionari
    mississippi missouri mist mistak mistress mit mitchel mix mixtur mlb mob mobil mode model
    moder modern modest modifi modul moist molecul molecular molli mom moment momentum monarch
    monasteri monday money monica monitor monk monkey monro monster mont montana montgomeri
    month montreal monument mood moon moor moral moreov morgan morn morocco morri morrison
    mortal morton moscow mose mosqu moss most moth mother motion motor motorcycl mount mountain
    mous mouth move movement movi mph mrs mtv much mud muhammad multi multipl mumbai mumbl
    munich municip munster murder murmur murphi murray muscl museum music musician muslim must
    mutter mutual mysteri myth mytholog nacion nadu nail nake name nanci napl napoleon narrat
    narrow nasa nash nashvill natali nate nathan nation nationalist nationwid nativ nato natur
    nautic naval navi navig nazi nba nbc ncaa neal near nearbi nearest nebraska necessari
    necessarili neck nee need negat negoti neighbor neighborhood neighbour neighbourhood neil
    neill neither nelson neo nepal nephew nerv nervous nest net netherland network neutral
    nevada never nevertheless new newcastl newer newli newman newport news newspap newton next
    nfl nhl nice nichola nick nicknam nicol nicola nigeria night nightmar nina nine nineteenth
    nintendo ninth nixon noah nobel nobl nobodi nod noel nois nomin nomine non none nonetheless
    noon norfolk normal norman north northeast northeastern northern northwest northwestern
    norton norway norwegian nose notabl note noth notic notion notr nottingham nova novel
    novelist novemb nowher nsw nuclear number numer nurs oak oakland oath obama object oblast
    observ observatori obtain obvious occas occasion occup occupi occur ocean octob odd offens
    offer offic offici often ohio oil okay oklahoma old older oldest oliv olivia olymp one ongo
    onlin ontario onto onward open oper opera opinion oppon opportun oppos opposit optic option
    oral orang orbit orchestra ordain order ordinari ore oregon org organ organic organis
    organiz orient origin orlando orlean orthodox oscar oslo other otherwis ottawa otto ottoman
    ought ourselv outbreak outcom outdoor outer outfit output outsid outstand oval overal
    overcom overhead overnight oversea overwhelm owe owen own owner ownership oxford oxygen
    pablo pace pacif pack packag page paid pain paint painter pair pakistan pakistani palac pale
    palestin palestinian palm palmer pan panama panel panic pant paper para parad paradis
    parallel parent pari parish park parker parliament parliamentari part parti partial particip
    particl particular partner partnership pass passag passeng passion past pastor pat patch
    patent path patient patricia patrick patriot patrol patron pattern paul paulo paus pavilion
    pay payment pdf peac peak pearl pedro peer pen penalti peninsula penn penni pennsylvania
    pension peopl pepper per perceiv percent percentag percept perci percuss perez perfect
    perform perhap period perman permiss permit perri persian person personnel perspect perth
    peru pet pete peter petersburg petit petroleum petti phantom phase phd phenomenon phil
    philadelphia philip philipp philippin phillip philosoph philosophi phoenix phone photo
    photograph photographi phrase physic physician pianist piano pick pictur pie piec pier pierc
    pierr pig pile pillow pilot pin pine pink pinyin pioneer pipe pirat piss pistol pit pitch
    pitcher pittsburgh pizza place placement plagu plain plan plane planet plant plantat plastic
    plate plateau platform platinum play player playoff playstat playwright plaza pleas pleasant
    pleasur plenti plot plus plymouth pocket poem poet poetri point poison poland polar pole
    polic polici polish polit politician poll pollut polo pond pool poor pop pope popul popular
    porch port portal porter portfolio portion portland portrait portray portsmouth portug
    portugues posit possess possibl post postal pot potenti potter potteri pound pour poverti
    powder powel power practic pradesh pragu prairi prais prayer pre preced precious precis
    predecessor predict predomin prefectur prefer pregnanc pregnant preliminari premier
    premiership premis prepar presbyterian presenc present preserv presid presidenti press
    pressur prestigi preston presum pretend pretti prevent previous prey price pride priest
    primari primarili prime primit princ princess princeton princip principl print prior
    prioriti prison privaci privat prix prize pro probabl problem procedur proceed process
    proclaim produc product prof profess profession professor profil profit program programm
    progress prohibit project promin promis promot prompt pronounc proof propaganda proper
    properti proport propos prosecut prospect protagonist protect protein protest protocol
    prototyp proud prove proven provid provinc provinci provis provision proxim prussia prussian
    psycholog pub public publish puerto pull puls pump punch punish punjab punk pupil purchas
    pure purpl purpos purs pursu pursuit push put qualif qualifi qualiti quantum quarter
    quarterback quarterfin quartet que quebec queen queensland quest question quick quiet quinn
    quit quot rabbi rabbit race rachel racial radar radiat radic radio raf rafael rage raid
    raider rail railroad railway rain rainbow rainfal rais raja ralli ralph ram ran ranch randi
    random rang ranger rank rao rap rape rapid rapper rare rat rate rather ratio ration raven
    raw ray raymond reach react reaction read reader readi reagan real realis realiti realiz
    realli realm rear reason rebecca rebel rebellion rebound rebuilt recal receiv recent recept
    receptor recipi recogn recognis recognit recommend reconnaiss reconstruct record recov
    recoveri recreat recruit rectangular rector recur red reduc reduct reed refer refere
    referendum reflect reform refug refuge refus regard regardless regent regim regiment region
    regist registr regret regul regular regulatori rehabilit reid reign reinforc reject relat
    relationship relax relay releas releg relev reli reliabl relief reliev religi religion reloc
    reluct remain remaind remark rememb remind remix remnant remot remov renaiss renam render
    rene renew renov renown rent repair repeat replac repli report repres represent republ
    republican reput request requir rescu research reserv reservoir resid residenti resign
    resist resolut resolv resort resourc respect respond respons rest restaur restor restrict
    result resum retail retain retir retreat retriev return reunion rev reveal revel reveng
    revenu reverend revers review revis reviv revolt revolut revolutionari reward rex reynold
    rhine rhode rhythm rib ribbon rica rice rich richard richardson richmond rick ricki rico rid
    ride rider ridg ridicul rifl right riley rim ring rio riot rip rise risk rita ritual rival
    rivalri river road rob robe robert roberto robertson robin robinson robot rochest rock
    rocket rocki rod rode rodriguez roger roland role roll roller roman romanc romania romanian
    romant rome ron ronald roof rooki room roosevelt root rope rosa rose ross roster rotat
    rotten rough round rout routin rover row roy royal rpm rub rubber rubi rugbi ruin rule ruler
    rumor run runner runway rural rush russel russia russian ruth ryan sabha sacr sacrific sad
    safe safeti sage said sail sailor saint sake salari sale salem salli salon salt salvador sam
    samantha sampl samuel san sanchez sanctuari sand sandi sandwich sang sank sanskrit santa
    santiago santo sao sara sarah saskatchewan sat satellit satisfact satisfi saturday saudi
    savag savannah save saw saxon saxophon say scale scandal scar scare scatter scene scent
    schedul scheme scholar scholarship school scienc scientif scientist scope score scorer
    scotia scotland scott scottish scout scream screen screenplay screenwrit screw script
    sculptor sculptur sea seal sean search season seat seattl sebastian sec second secondari
    secret secretari section sector secular secur see seed seek seem seen segment seiz select
    self sell semi semifin seminari senat send senior sens sensat sensit sent sentenc seoul
    separ septemb sequel sequenc serbia serbian sergeant seri serial serious serv servant server
    servic session set seth settl settlement settler seven seventeen seventh seventi sever sex
    sexi sexual shade shadow shaft shah shake shakespear shall shallow shame shane shanghai
    shannon shape share shark sharon sharp sharpli shatter shaw shed sheep sheer sheet sheffield
    shelf shell shelter shepherd sheriff sherman shi shield shift shine ship shirley shirt shit
    shock shoe shook shoot shop shore short shorter shot shoulder shout shove show shower shown
    shrine shrug shut shuttl sibl sick side sidney sieg sierra sigh sight sign signal signatur
    signific silenc silent silk silli silva silver similar simon simpl simpli simplifi simpson
    simultan sin sinc sing singapor singer singh singl sink sip sir sister sit site situat six
    sixteen sixth sixti size skate sketch ski skill skin skirt skull sky slam slap slave slaveri
    sleep sleev slender slept slid slide slight slip slope slot slovakia slovenia slow slowli
    small smaller smallest smart smell smile smith smoke smooth snail snake snap snow soap
    soccer social socialist societi sociolog sofa sofia soft softwar soil solar sold soldier
    sole solid solo solomon solut solv somebodi somehow someon somerset someth sometim somewhat
    somewher son song songwrit soni soon sooner sophi sophia soprano sorri sort sought soul
    sound soundtrack soup sourc south southeast southeastern southern southwest southwestern
    sovereign soviet sox space spain span spanish spare speak speaker speci special specialist
    specif specifi specimen spectrum speech speed speedway spell spencer spend spent sphere spi
    spider spike spin spine spirit spiritu spite split spoke spoken sponsor sport spot spread
    spring springfield sprint spun squad squadron squar squeez sri stabil stabl stack stadium
    staff stage stain stair staircas stake stamp stan stanc stand standard stanford stanley star
    stare stark start startl state statement static station statist statu status stay steadi
    steadili steal steam steel steep steer stefan stem step stephani stephen sterl stern steve
    steven stewart stick stiff still stock stockholm stole stolen stomach stone stood stop
    storag store stori storm storylin straight straighten strain strait strand strang stranger
    strateg strategi streak stream street strength stress stretch strict strike string strip
    stroke strong stronger strongest struck structur struggl sts stuart stuck student studi
    studio stuff stumbl stun stupid style sub subfamili subject submarin submit subsequ
    subsidiari subspeci substanc substanti substitut subtl suburb suburban subway succeed
    success successor suck sudan sudden sue suffer suffici sugar suggest suicid suit suitabl
    sullivan sultan sum summer summit sun sunday sung sunk sunlight sunni sunset sunshin super
    superintend superior superman supernatur supervis suppli support suppos suprem sur sure
    surfac surgeon surgeri surpris surrend surrey surround surveil survey surviv survivor susan
    suspect suspend suspens suspici suspicion sussex sustain sutton swallow swan swear sweat
    sweden swedish sweet swept swift swim swing swiss switch switzerland sword sworn swung
    sydney symbol symphoni symptom syndrom synonym synthesi syria syrian system tabl tackl
    tactic tag tail taiwan take taken tale talent talk tall tamil tampa tan tang tank tap tape
    tara target task tast tate taught tax taxi taylor tea teach teacher team teammat tear tech
    technic techniqu technolog ted teddi teen teenag teeth tel telegraph telephon televis tell
    temperatur templ temporari temporarili ten tend tender tennesse tenni tenor tens tension
    tent tenth tenur term termin terminus terrac terrain terri terribl terrifi territori terror
    terrorist test testament testimoni texa text thai thailand thame thank theater theatr
    theatric theme themselv theodor theolog theorem theoret theori therapi thereaft therebi
    therefor thermal thesi thick thigh thin thing think third thirteen thirti thoma thompson
    thomson though thought thousand threat threaten three threshold threw thriller throat throne
    throughout throw thrown thrust thumb thunder thursday thus ticket tide tie tier tiger tight
    tighten till tilt tim timber time timothi tin tini tip tire tissu titl tobacco tobi today
    todd toe togeth tokyo told toll tom tomb tommi tomorrow ton tone tongu toni tonight tonn
    took tool top topic tore torn tornado toronto torpedo tortur toss total touch touchdown
    tough tour tourism tourist tournament toward towel tower town township toy trace traci track
    trade tradit traffic traffick tragedi trail trailer train trainer tran transfer transform
    transit translat transmiss transport trap travel travi treasur treasuri treat treati
    treatment tree trek trembl trend trent trevor tri trial triangl tribal tribe tribun tribut
    tributari trick trigger trilog triniti trio trip tripl tristan triumph troop trophi tropic
    troubl troy truck true truli trump trumpet trunk trust truste truth tube tuck tucker tuesday
    tug tune tunnel turkey turkish turn turner twelfth twelv twenti twentieth twice twin twist
    twitter two tyler type typic uefa uganda ugli ukrain ukrainian ulster ultim ultra unabl
    unawar uncertain uncl unclear uncomfort unconsci uncredit und under undergradu underground
    underneath understand understood undertaken underw underwat unexpect unfortun unifi uniform
    unincorpor union uniqu unit uniti univers universal universiti unknown unless unlik
    unsuccess unusu unveil up upcom updat upgrad upon upper upright upris upset upstair upward
    urban urg usa usag use user uss ussr usual utah utc util vacant vacat vacuum vale valentin
    valid valley valu valuabl valv vampir van vancouv vanish vari variabl variant variat varieti
    various vast vault vector vega veget vehicl vein veloc velvet venezuela venic ventur venu
    vermont vernon vers version versus vertic vessel veteran via vic vice vicin victim victor
    victori victoria victorian video vienna vietnam vietnames view viewer vii viii villa villag
    vincent vinyl viola violat violenc violent violet violin virgin virginia virtual virus visa
    visibl vision visit visitor visual vital vladimir vocal vocalist voic voivodeship vol volcan
    volleybal voltag volum volunt voluntari von vote voter voyag vulner wade wagner wagon waist
    wait wake wale walk walker wall wallac walsh walt walter wang wanna want war ward warehous
    warfar warm warmth warn warner warrant warren warrior warsaw wash washington wast watch
    water watson watt wave way wayn weak wealth wealthi weapon wear weather web webb websit
    webster wed wednesday week weekend wei weight weird welcom welfar well wellington welsh went
    wesley west western westminst wet whatev wheat wheel whenev wherea wherev whether whilst
    whip whisper white whitney whoever whole wick wicket wide widen wider widespread widow width
    wife wild wilder wildlif wilhelm will willi william wilson win wind window windsor wine wing
    wingspan winner winnipeg winston winter wipe wire wireless wisconsin wisdom wise wish wit
    witch withdraw withdrawn withdrew within without wive wizard woke wolf wolv woman women
    wonder wood wooden woodland word wore work worker workshop world worldwid worn worri wors
    worship worst worth worthi wound wow wrap wrestl wrestler wright wrist write writer written
    wrong wrote www wyom xavier yale yang yank yanke yard yeah year yell yellow yes yesterday
    yet yield york yorkshir young younger youngest yourself youth youtub yuan yugoslavia zane
    zealand zero zhang zimbabw zoe zone zoo zurich
"""
_OTHERS = """
    abajo abend aber abierto abril abrir abuela abuelo aceit achet adond adress afin agosto agua
    ahora aider aie ailleur aimer ainsi al alegr alemán algo alguna alguno algún all allem aller
    allí alor also alt alten amarillo amiga amigo amor amour ancho ancien ander anderem anderen
    angst anné ant antwort août apfel appart appel appell apprendr aprend aprè aquel aquella
    aquello aquí arbeit arbeiten arbeitet arbr argent arriba arroz arzt assez asunto así attendr
    auch aucun auf aug augen aujourd aunqu aura auraient aurait auron aus aussi autobú autour
    autr aux außer avai avaient avait avant avec avez avion avión avoir avon avril ayant ayer
    ayuda ayudar azul azúcar año aún bahn bailar bain bajo bald banco banqu barato barco barrio
    bas bateau bauen baum baño beau beaucoup beber beginn beginnen bei beid beiden beim bein
    beispiel bekommen berg beruf besoin besser bett bevor bezahlen bicicleta bien bier bild bis
    bist bitt bièr blanc blanco bleiben bleibt bleu bleue blume blumen boca boda boden boi boir
    bolsa bon bonito bonjour bonn bras brauch brauchen braucht brazo bringen brot bruder bruit
    brüder buch buena buscar butter bébé bücher büro caballo cabeza cada café caja calor cama
    cambiar cambio camino camisa campagn campo canción cansado cantar cara carn caro carretera
    carta casa casado casi ceci cela celui cena centro cepend cerca cerrar cerveza ces cet cett
    ceux chais chambr changer chanson chaqu chat chaud chaussur chemin chemis cher chercher
    cheval cheveux chez chien ciel cielo cine cinq cita ciudad clase clef coch cocina coeur
    collègu combien comer comida comm como comprar compt conmigo connaîtr conoc contigo contr
    contra contraseña corazón correo correr corto cosa couleur cour courir couteau crear creer
    crier croir cuadro cual cualquier cuando cuanto cuarto cuatro cuchillo cuello cuenta cuerpo
    cuidado cuisin cumpleaño curso cuál cuándo cuánta cuánto cómo côté cœur dabei dadurch dafür
    dagegen damit danach dank dann dans dar daran darauf daraus darf darfst darum darüber dass
    datei dauer davon dazu debe deben debo decir dedo dein deinem deinen deiner dejar dem demain
    demi denen denken denn dent dentro depui derecha deren dernier dernièr derrièr desayuno
    descendr desd deshalb despué dessen deutschland deux devant devenir devez dezemb diario dich
    diciembr dienstag dient dies diesem diesen dieser diez difficil difícil dimanch dinero ding
    dir dire dirección dit doch docteur doit doivent dolor domingo donc dond donner donnerstag
    dont dorf dormir dort doux droit dunkel durant durch duro durst dès début décembr déjà día
    días dónde eau eben eck edad edificio effet ehe ei eier eigentlich ein einem einen einer
    einfach einig einmal ejemplo ell ella ello eltern empezar empresa encontrar encor endlich
    endroit enero enfant enfermo enfin entendr entonc entr entrar entrepris entrer envi equipo
    eran erd ere erreur erst ersten esa escribir escuchar escuela ese eso espalda español
    esperar esposa espérer essen esta estaba estaban estación estado estamo estar esto estoy
    estudiant estudiar está están etwa euch euer eur eux fahren fahrrad fai faim fait falsch
    falta familia famill farb fatigué faut faux febrero februar fecha fehler feier feld feliz
    femm fenster fenêtr ferien fermer fest feu feuer fiesta fil finden findet finir firma fisch
    flasch fleisch fleur fliegen flor flug flughafen fluss foi folgen fond font forêt foto frage
    fragen frau frauen frei freitag frent fresco freund freundin froid fromag fruta frère frío
    früh früher fue fuego fuera fueron fuert fui fuß fácil fährt février fête für gagner ganar
    ganz gar garder gare garten garçon gast gato gauch gebe geben geboren geburtstag gebäud
    gefahr gefallen gegen gehen geht gehört geld gemüs genau gent genug gerad gern geschenk
    geschicht geschäft gesicht gestern gesund getränk gewesen gibt ging glas glauben gleich
    glück goût grau grenz gris gros groß große grund grupo grupp grün guapo guerr guerra gusta
    gustar gute guten gäste haar habe haben habitación hablar habt había habían hace hacen hacer
    hacia hafen hago halb halten hambr handi has hast hasta hatt hatten hauptstadt haus haya
    heiß heißen heißt helfen hemd hemo her herbst hermana hermano hermoso herr herz heur heureux
    heut hielo hier hija hijo hilf himmel hin hinter histoir historia hiver hoch hochzeit hof
    hoffen hoja holen holz hombr hombro homm hor hora hose hoy huevo huil huit hund hut hälfte
    hände hätte hätten hôpital hôtel iba ich ici ide idé iglesia ihm ihn ihnen ihr ihrem ihren
    ihrer il immer important in insel invierno irgendwi isla ist izquierda jahr jahren jamai
    jamb jamá januar janvier jardin jardín jaun jede jedem jeden jeder jefe jemand jetzt jeu
    jeudi jeun joie joli jouer jour journé joven juego juev jugar juillet juin julio jung juni
    junio junto jupe jusqu kaffe kalt kann kannst kart katz kauf kaufen kein keinem keinen
    keiner keller kennen kinder kirch klass kleid klein knie koch kochen kolleg kollegen kommen
    kommt konnt kopf kosten krank kuchen kuh kund kunden kunst kurz käse können könnte könnten
    körper küche lachen lado lago lait langsam langu laquell largo lassen laufen laut lavar
    laver leben lebt lech leer legen lehrer leicht leis lejo lendemain lengua lento lequel
    lernen lesen lesquel letra lettr letzt letzten leur leut levantar lever libr libro licht
    lieb lieben liegen liegt lieu lign limpio lire livr llama llamar llave llegar lleno llevar
    llorar lluvia loco loin longtemp luego luft lumièr luna lundi lune luz läuft légume línea
    löffel mach machen macht madr maestro magasin magen mai maison mal malad malo maman manch
    manger mano manteau mantel mantequilla marcher marché mardi mariag marido markt mart marzo
    maschin matin maus mauvai mayo maîtr mañana meer mehr meilleur mein meinem meinen meiner
    mejor meno menor mensch menschen mer mercredi mes mesa mese messer mettr mich midi miedo
    mien mientra mieux milch milieu minuten minuto mir mirar mis misma mismo mitad mitt mittag
    mittwoch miércol moi moin momento mon monat mond monsieur montag montagn montaña monter
    montr montrer morceau morgen morir mort mot moteur mourir mover mucha muchacho mucho mujer
    mund mundo mur musik musiqu muss musst muy más mädchen männer märz mère médecin médico
    mémoir même mêmes mía mío möchte mögen música müssen nacer nach nachdem nacht nada nadi
    namen nariz nase navidad naîtr neben necesitar negro nehmen nein nett neu neue neuen nez
    nicht nie niemand niev nimmt ninguna ningún niña niño noch noir nom nombr nord norden nort
    nos nosotra nosotro noticia nous nouveau nouvell novembr noviembr novio noël nube nuestra
    nuestro nueva nuevo nuit null nummer numéro nun nunca nur nächste número oben obst octobr
    octubr oder oeil oest offen oficina oft ohn ohr oiseau ojo oktob olvidar oncl onkel ont
    ordinateur ordnung oreill oreja ort osten otra otro oublier ouest ouvert ouvrir oído oír
    padr pagar palabra papa papel papier paquet par parc pare parfoi parler parqu partido partir
    pas pasar paso passer passwort patata paí peau pecho pedir pelo película pendant pensar
    pequeño perder perdr pero perro persona personn pescado peso peu peur peut peuvent peux
    pferd piedra piel pierna piso plage plaisir plat plato platz playa plein pleurer pluie
    plusieur pobr poch poco poder poisson polizei pollo pomm poner pont por porqu poulet
    pourquoi pousser pouvez pouvoir precio pregunta preguntar prei premièr prendr presqu
    primavera primera primero primo problema problèm prochain profesor professeur projekt projet
    pronto propr proyecto près préparer présent prêt prüfung pude pue pueblo pued pueden puedo
    puent puerta pui puisqu punto pájaro père quand quel quell quelqu querer queso qui quien
    quier quiero quinz quitter quién quoi qué rad raison rappel razón recevoir rechnung recht
    recibir recordar reden regalo regen rei reich reis reisen reloj rencontr rendr rentrer repa
    respuesta restaurant rester reunión revenir rey richtig rien rire rivièr rojo ropa rot roug
    rue rufen ruhe ruhig rund rápido répondr répons réunion réussir rêve río rücken saber sabl
    sac sacar sach sachen saft sagen sagt sait sal sala salir sall salud salz samedi samstag
    sangr santé satz savoir schaf schiff schlafen schlecht schlüssel schmecken schnee schnell
    schon schreiben schreibt schrift schuh schuhe schule schwarz schwer schwester schwimmen
    schön schüler seguir segundo según sehen sehr sein seinem seinen seiner seit sekund sel
    selbst semain semana sembler sen sentir septembr septiembr ser sera serait serveur servicio
    servidor ses setzen seul seulement sich sicher sido sie sieht siempr sien silla sind singen
    sino sistema sitzen sobr soeur sofort sogar sohn soi soir soiré soit sol solch soleil soll
    sollen sollt sombra sombrero somm sommeil sommer somo sondern sonn sonntag sonst sont sopa
    sortir sous souvent soy spiel spielen spielt sprach sprechen spricht spät später stadt
    stehen steht stein stell stellen stimm straße strom studieren stuhl stund stunden stück
    suchen sucr sud suelo suert sueño sui supp surtout sus suya suyo systèm sábado sólo süden
    sœur tage también tampoco tandi tant tanto tard tasch tass taza tee teil telefon teller
    teléfono temp temprano tenemo tener tengo tenir terr tes teuer thé tiempo tien tienda tienen
    tierra tirer tisch tochter tod toda todavía todo toi tomar tomber topf toujour tourn tourner
    tous tout trabaja trabajar trabajo traer tragen tranquill travail travaill treffen tren
    trepp tres trinken trinkt trist troi trop trouver très tun tus téléphone tête tía tío tür
    uhr umzug un una une unfal universidad universität uno unser unserem unseren unter urlaub
    usar ust usted uva vaca vacacion vacanc vach vai vamo vas vaso vater vecino vender vendr
    vendredi venir vent ventana ventr ver verano verd verdad vergessen verkauf verkaufen
    verlieren verr verstehen versuchen vert vertrag vestido veut veux vez viaj viand vida vide
    vie vieill viejo viel vielen vielleicht viento viern vieux vill vin vino visag vite vive
    vivir vivr vogel voici voilà voir voisin voitur voix voll volver vom vont vor vos vosotro
    votr vous voy voz vrai vraiment vuestra vuestro vélo vérité wagen wald wand wann waren warst
    warten warum was waschen wasser wechsel weg weihnachten weil wein weit weiß welch welchem
    welchen welcher welt wem wen wenig wenn wer werd werden werk wessen westen wetter wichtig
    wie wieder wies wieso willst wir wird wirst wissen wobei woch wochen wochenend woher wohin
    wohl wohn wohnen wohnt wohnung wollen wollt womit woran worden wort wunsch wurd wurden wäre
    wörter würde würden yeux zahl zahlen zahn zapato zeigen zeit zeitung ziel zimmer zucker zug
    zum zur zurück zusammen zwar zwischen árbol école écouter écrire église élève étage étai
    étaient était étant étranger étudiant étudier été être île última último über überhaupt œuf
"""


@cache
def _stems() -> frozenset[str]:
    return frozenset((_ENGLISH + _OTHERS).split())


def is_frequent(word: str) -> bool:
    """Return whether any form of a word is among the frequent ones."""
    word = word.casefold()
    return word in STOP_WORDS or stem(word) in _stems()
