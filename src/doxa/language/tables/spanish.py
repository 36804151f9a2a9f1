"""The tables of Spanish."""

from doxa.language.languages import Language

SPANISH = Language(
    code="es",
    stemmer="spanish",
    common=(
        "dos tres cuatro cinco seis siete ocho el la los las un una unos unas es son está "
        "están soy era y o no ya ahora de del al en con por para que se su sus mi mis "
        "nuestro nuestra yo tú él ella nosotros ha he han fue vive vivo trabaja trabajo "
        "también pero como más menos muy desde hasta hoy ayer cuesta tiene tengo usa usamos "
        "llama a lo le me nos esta este cuál dónde cuándo quién qué cambió pasó reunión "
        "habla juega conduce come bebe sobre según si tal vez quizás empieza ser estar mudó "
        "hemos han les ha sido después antes sin entre mucho todos toda cada mañana están somos"
    ),
    articles="el|la|los|las|un|una|unos|unas|lo",
    of="de|para",
    me="yo|me|mí",
    we="nosotros|nosotras|nos",
    my="mi|mis",
    our="nuestro|nuestra|nuestros|nuestras",
    others="él|ella|ellos|ellas|su|sus|este|esta|esto|eso",
    change=(
        "ahora|ya|actualmente|hoy en día|desde (?:ahora|hoy|ayer|hace poco|esta semana|este "
        "mes|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre"
        r"|diciembre|el \w+|la semana pasada)|a partir de (?:ahora|hoy|mañana|este \w+|el? "
        "?(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)|enero|febrero|marzo|abril"
        "|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)|de ahora en "
        "adelante|últimamente|en adelante|en cambio|por fin|de nuevo|otra vez|al final|a el final"
        "|finalmente"
    ),
    besides=(
        "también|además|asimismo|igualmente|otro|otra|a veces|de vez en cuando|un segundo|una"
        " segunda|adicionalmente|aparte"
    ),
    times=(
        "(?:la semana|el mes|el año|el verano|el lunes|el martes|el viernes) pasad[oa]|ayer"
        r"|anteayer|recientemente|hace (?:poco|un mes|una semana|un año|dos \w+|tres \w+|unos "
        r"\w+|unas \w+)|esta semana|este (?:mes|año)|finalmente|por cierto|oficialmente|de "
        "hecho|hoy|al final|acaba de(?= )|pues|justo|por suerte"
    ),
    turns=(
        r"nuev[oa]s?|ya|deja\w*|dejó|dejé|cambi\w+|mud\w+|pas(?:ado|amos|ó|é)|sub\w+|baj\w+"
        r"|actualiz\w+|migr\w+|reempl\w+|sustitu\w+|retras\w+|aplaz\w+|adelant\w+|renov\w+"
        r"|cancel\w+|vend(?:í|ió|ido|imos)|cas(?:ó|é|ado|ada)|divorci\w+|romp\w+|roto"
        r"|arregl\w+|vuelv\w+|volvió|en vez de|en lugar de|al final|empez\w+|renombr\w+"
        r"|termin\w+"
    ),
    ends="ya no|no(?= .* más$)|dejó de|dejé de|ha dejado de|he dejado de",
    nots="no|nunca|jamás|tampoco",
    question=(
        r"\?\s*$|^¿|^(?:qué|quién|cuál|cuáles|cuándo|dónde|cómo|cuánto|cuántos|por qué|si"
        r"|podría|podríamos|debería|deberíamos|imagina|supón|suponiendo|supongamos)\b"
    ),
    hedge=(
        r"\w{2,}(?:aría|ería|iría)n?s?|como si|por error|erróneamente|ja(?:ja)+|broma|bromeando"
        r"|ojalá|"
        "quizás|quizá|tal vez|a lo mejor|posiblemente|probablemente|puede que|podría|podrían"
        "|debería|deberíamos|quiere|quiero|queremos|quisiera|querría|piensa|pienso|planea"
        "|planeo|espera|espero|ojalá|creo|cree|considera|considerando|si|gustaría|sueña|sueño"
        "|supongo|parece|intenta|intentando|va a|voy a|vamos a|solicitó|casi|estaría|sería"
        "|viviría|mudaría|todavía no|aún no|no estoy seguro|no sé|supuestamente|por ejemplo"
        "|broma|pensando|estamos evaluando|evaluando|probando|hipotéticamente|pronto"
    ),
    report=(
        "dicen|dice que|cuentan|cuenta que|se rumorea|al parecer|"
        "dice|dijo|dicen|dijeron|según|afirma|afirmó|contó|cuenta que|oí|oído|escuché"
        "|pregunta|preguntó|rumor|rumores|escribió|escribe que|menciona|mencionó|bromeó"
        "|susurró|anunció|en la (?:novela|película|historia|serie)|en el (?:libro|juego|sueño"
        "|ejemplo|cuento)"
    ),
    opening=(
        "por cierto|actualización|aviso|nota|corrección|ojo|oye|hola|perdón|no|sí|bueno|vale"
        "|atención|importante|novedades|noticias|buenas noticias|espera|y|pero|entonces|pues"
        "|recuerda|info|para que lo sepas|cambio de planes|cambio"
    ),
    instead=(
        "en lugar de {old}|en vez de {old}|y ya no {old}|,ya no {old}|y no {old}|,no {old}"
        "|,antes {old}|,antes era {old}"
    ),
    joins="y|e|pero|sino",
    new="nuev[oa]s?",
    roles=(
        "(?:jef[ea]|directora?|profesora?|ingenier[oa]|médic[oa]|abogad[oa]|enfermer[oa]"
        "|traductora?|estudiante|camarer[oa]|gerente|president[ea]|arquitect[oa]|cociner[oa]"
        "|maestr[oa]|programadora?|diseñadora?|periodista|escritora?|vendedora?|conductora?"
        "|asistente|becari[oa]|capitán|capitana|entrenadora?|ministr[oa]|contable|consultora?"
        "|analista|desarrolladora?)(?: de .*)?"
    ),
    contrast="sino",
    phrases="""
moved to: se|me|nos ha|he|han|hemos mudado|trasladado de {old} a {v} / se|me|nos
    mudó|mudé|mudamos|trasladó|trasladé|trasladamos|mudaron de {old} a {v} /
    se|me|nos ha|he|han|hemos mudado|trasladado a {v} / se|me|nos
    mudó|mudé|mudamos|trasladó|trasladé|trasladamos|mudaron a {v} / ha|he|han trasladado su|mi?
    sede? a {v} / trasladó|movió su sede a {v} / se fue|ha ido a vivir a {v} / me fui a vivir a
    {v}
moved away from: se ha ido|marchado de {v} / se fue|marchó de {v} / dejó {v}
lives in: vive|vivo|viven|vivimos|reside|resido en {v} / tiene su sede en {v} / está
    radicado|radicada|basada|basado|ubicada en {v} / tiene sede en {v}
joined: ha|he empezado|comenzado a trabajar en|para|con {v} / empezó|empecé|comenzó|comencé a
    trabajar en|para|con {v} / se|me ha|he incorporado|unido a {v} / se|me
    incorporó|unió|uní|incorporé a {v} / entró|entré a trabajar en {v} /
    consiguió|encontró|aceptó|conseguí|encontré un? nuevo? trabajo|empleo|puesto en {v} / ha|he
    conseguido|encontrado|aceptado un? nuevo? trabajo|empleo|puesto en {v} / fichó|ha fichado
    por {v} / tiene|tengo un? nuevo trabajo en {v} / empezó|empecé|ha empezado|he empezado en
    {v}
resigned from: ha|he dejado {v} / renunció|renuncié a {v} / dejó|dejé {v} / fue
    despedido|despedida de {v} / dejó|dejé su|mi trabajo en {v}
works as: trabaja|trabajo como|de {v}
works at: trabaja|trabajo|trabajan en|para|con {v} / está empleado|empleada en|por {v}
became: fue ascendido|ascendida|nombrado|nombrada|promovido|promovida a? {v} / se convirtió en
    {v} / ha sido ascendido|ascendida|nombrado|nombrada|promovida a? {v} / se ha convertido en
    {v}
is=working: funciona|funcionan
is=married: se|me|nos ha|he|hemos casado / se|me|nos casó|casé|casamos / se|me|nos
    casó|casé|casamos el|este|hace|ayer *
is=divorced: se|me|nos ha|he|hemos divorciado|separado / se|me|nos divorció|divorcié
married: se|me ha|he casado con {v} / se|me casó|casé con {v}
is married to: está|estoy casado|casada con {v}
divorced: se|me ha|he divorciado|separado de {v} / se|me divorció|separó|divorcié|separé de {v}
    / está|estoy divorciado|divorciada de {v} / {s} y|e {v} se han divorciado|separado / {s} y
    {v} se divorciaron|separaron
renamed to: ha sido|fue renombrado|renombrada a|como {v} / hemos renombrado {s} a|como {v} /
    renombramos {s} a|como {v} / pasó|pasa|ha pasado a llamarse {v}
is called: se|me llama|llamo|llaman {v}
costs: cuesta|cuestan|vale {v}
weighs: pesa|peso {v}
is due on: vence|vencen el {v} / se entrega|debe entregarse el|antes_de el? {v} / hay que
    entregar {s} el {v}
takes: dura|duran|tarda|lleva {v}
listens on port: escucha|corre|funciona|está|responde|atiende en el? puerto {v} / usa|utiliza
    el? puerto {v}
reports to: reporta|reporto a {v} / depende|responde de|ante {v}
is led by: es|está dirigido|dirigida|liderado|liderada por {v} / lo dirige|lidera {v}
leads: dirige|dirijo|lidera|encabeza {v}
switched to: se|nos? ha|hemos|he|han cambiado|migrado|pasado de {old} a {v} / se|nos?
    cambió|cambiamos|cambié|migramos|migró|pasamos|pasó|pasé de {old} a {v} / se|nos?
    ha|hemos|he|han migrado|pasado|actualizado a {v} / nos?
    cambiamos|cambié|migramos|migró|pasamos|actualizamos a {v} / se|nos ha|hemos pasado a {v} /
    se|nos pasó|pasamos a {v}
switched to: {old} ha_sido|fue reemplazado|sustituido|reemplazada|sustituida por {v} como {s} /
    hemos|han reemplazado|sustituido {old} por {v} / reemplazamos|sustituimos|cambiamos|cambié
    |cambió|cambiaron|reemplacé
    el|la|los|las|mi|mis|su|nuestro|nuestra? {old} por {v} / ha|he|hemos|han cambiado
    el|la|los|las|mi|mis|su|nuestro|nuestra? {old} por {v} / {v} reemplazó|sustituyó|reemplaza
    |sustituye a {old} / {v} ha
    reemplazado|sustituido a {old} / {old} fue reemplazado|sustituido|reemplazada|sustituida por
    {v}
changed to: se ha|han prorrogado|extendido|prolongado|renovado a|para|hasta {v} / se
    retrasa|adelanta|aplaza a|hasta {v} / se ha|han
    cambiado|movido|pasado|trasladado|aplazado|retrasado|adelantado|pospuesto|subido
    |bajado|ampliado|reducido|aumentado|fijado de {old} a|para|hasta {v} / se ha|han
    cambiado|movido|pasado|trasladado|aplazado|retrasado|adelantado|pospuesto|subido
    |bajado|ampliado|reducido|aumentado|fijado a|para|hasta|en {v} / ha|han
    subido|bajado|aumentado|cambiado|pasado|caído de {old} a {v} / ha|han
    subido|bajado|aumentado|cambiado|pasado|caído a|hasta {v} /
    subió|bajó|aumentó|cambió|pasó|cayó|sube|baja|pasa de {old} a {v} /
    subió|bajó|aumentó|cambió|pasó|cayó|sube|baja|pasa a|hasta|para {v} / se
    cambió|movió|pasó|trasladó|aplazó|retrasó|adelantó|pospuso|subió|bajó|amplió
    |redujo|aumentó|fijó|mueve|pasa|aplaza|adelanta|retrasa a|para|hasta|en {v} / fue|ha
    sido|fueron|han sido cambiado|cambiada|movido|movida|trasladado|trasladada|aplazado|aplazada
    |retrasada|retrasado|adelantada|adelantado|pospuesto|pospuesta|ampliado|ampliada
    |reducido|reducida|aumentado|aumentada|reprogramado|reprogramada a|para|hasta {v} /
    hemos|han|he
    cambiado|movido|pasado|trasladado|aplazado|retrasado|adelantado|pospuesto|subido
    |bajado|ampliado|reducido|aumentado|migrado|actualizado {s} a|para|hasta|en {v} /
    cambiamos|movimos|pasamos|trasladamos|aplazamos|retrasamos|adelantamos
    |pospusimos|subimos|bajamos|ampliamos|redujimos|aumentamos|migramos|movieron
    |subieron|cambiaron|aplazaron|adelantaron|retrasaron|actualizamos|actualicé|actualizaron|pasé
    |moví|migré|subí|bajé|cambié {s} a|para|hasta|en {v}
called off: ha sido|fue cancelado|cancelada|anulado|anulada / se ha cancelado|anulado / se
    canceló|anuló
is allergic to: es|soy alérgico|alérgica a {v} / tiene|tengo alergia a {v}
likes: ama|adora|prefiere|prefiero {v} / le gusta|gustan|encanta|encantan {v} / me
    gusta|gustan|encanta|encantan {v}
dislikes: odia|odio|detesta {v}
speaks: habla|hablo|hablan {v}
knows: sabe|conoce|domina {v}
plays: juega|juego a {v} / toca|toco {v}
drives: conduce|conduzco|maneja un|una {v}
gave up: ha|he|hemos vendido|abandonado|dejado {v} / vendió|vendí|vendimos|abandonó {v} /
    ha|he|hemos dejado de {v} / dejó|dejé de {v}
takes place: es|son|será cada {v} / se celebra|reúne|realiza|hace|celebrará el|los|cada|a_las
    {v} / tiene lugar el|los|a_las {v} / nos reunimos los|el|cada {v} / está|están
    programado|programada|prevista|previsto para el? {v}
start time: empieza|comienza|inicia a_las|a_la|el|en {v}
end date: termina|acaba|finaliza|expira|caduca a_las|a_la|el|en {v}
opening time: abre|abren a_las|a_la {v}
closing time: cierra|cierran a_las|a_la {v}
is written in: está|fue|ha sido escrito|escrita|implementado|programado|reescrito|reescrita en
    {v}
is hosted on: está|están alojado|alojada|desplegado|desplegada en {v} / se aloja|despliega en
    {v} / alojamos|desplegamos {s} en {v}
departure time: sale|salen a_las|a_la {v}
runs on: en {s} corre|usamos|funciona {v} / corre|funciona|se_ejecuta|ejecuta en|sobre|con {v}
uses: usa|uso|usamos|usan|utiliza|utilizo|utilizamos|utilizan|emplea {v} / trabajamos con {v}
is located in: está|estoy|están|queda|se_encuentra|encuentra en {v}
studies: estudia|estudio {v}
goes to: estudia|estudio en {v} / va|voy a la? {v}
eats: come {v}
drinks: bebe|bebo|toma {v}
on medication: toma|tomo {v}
has: tiene|tengo|tenemos|posee {v}
is: es|son|soy|será|está|están|sigue_siendo|asciende_a|queda_en {v}
""",
    words="""
roto=broken rota=broken estropeado=broken estropeada=broken averiado=broken averiada=broken
teléfono=phone correo=email email=email dirección=address precio=price costo=cost coste=cost
tarifa=fee puerto=port plazo=deadline entrega=deadline jefe=manager jefa=manager esposa=wife
mujer=wife esposo=husband marido=husband nombre=name edad=age sede=headquarters rol=role
puesto=role profesión=profession título=title cargo=role idioma=language lenguaje=language
reunión=meeting cita=appointment fecha=date cumpleaños=birthday tamaño=size peso=weight
alquiler=rent sueldo=salary salario=salary presupuesto=budget estado=status versión=version
contraseña=password color=color oficina=office despacho=office sala=room habitación=room
empleador=employer trabajo=job gato=cat gata=cat perro=dog perra=dog coche=car carro=car
proyecto=project informe=report servidor=server servicio=service dentista=dentist médico=doctor
médica=doctor profesor=teacher profesora=teacher líder=lead responsable=lead dueño=owner
dueña=owner escuela=school colegio=school piso=apartment casa=house hija=daughter hijo=son
hermana=sister hermano=brother madre=mother padre=father tren=train vuelo=flight curso=course
contrato=contract límite=limit capital=capital proveedor=provider editor=editor ciudad=city
país=country equipo=team favorito=favorite favorita=favorite preferido=favorite
preferida=favorite número=number base_de_datos=database fecha_límite=deadline
fecha_de_entrega=deadline número_de_teléfono=phone_number comida=food bebida=drink película=film
libro=book canción=song deporte=sport hora=time lunes=Monday martes=Tuesday miércoles=Wednesday
jueves=Thursday viernes=Friday sábado=Saturday sábados=Saturday domingo=Sunday domingos=Sunday
enero=January febrero=February marzo=March abril=April mayo=May junio=June julio=July
agosto=August septiembre=September octubre=October noviembre=November diciembre=December
euro=euros euros=euros dólar=dollars dólares=dollars pesos=pesos libras=pounds horas=hours
minuto=minutes minutos=minutes segundo=seconds segundos=seconds día=day días=days semana=week
semanas=weeks mes=month meses=months año=year años=years metros=meters kilómetros=kilometers
kilos=kilos kilo=kilos gramos=grams grados=degrees uno=one dos=two tres=three cuatro=four
cinco=five seis=six siete=seven ocho=eight nueve=nine diez=ten once=eleven doce=twelve
veinte=twenty mediodía=noon medianoche=midnight por=per ciento=cent abierto=open abierta=open
cerrado=closed cerrada=closed resuelto=resolved resuelta=resolved arreglada=fixed
arreglado=fixed activo=active activa=active inactivo=inactive inactiva=inactive activado=enabled
activada=enabled desactivado=disabled desactivada=disabled casado=married casada=married
soltero=single soltera=single divorciado=divorced divorciada=divorced disponible=available
vegetariano=vegetarian vegetariana=vegetarian vegano=vegan vegana=vegan público=public
pública=public privado=private privada=private pagado=paid pagada=paid pendiente=pending
aprobado=approved aprobada=approved rechazado=rejected rechazada=rejected enfermo=sick
enferma=sick rojo=red roja=red azul=blue verde=green amarillo=yellow amarilla=yellow negro=black
negra=black blanco=white blanca=white gris=gray naranja=orange morado=purple rosa=pink
marrón=brown jubilado=retired jubilada=retired
""",
    own=(
        "vivo|trabajo|tengo|soy|estoy|uso|utilizo|hablo|prefiero|conduzco|juego|toco|como"
        "|bebo|peso|he|me|empecé|dejé|cambié|estudio|dirijo|manejo|pago|odio|compré|vendí"
        "|resido"
    ),
    ours=(
        "vivimos|trabajamos|tenemos|somos|estamos|usamos|utilizamos|hablamos|hemos|nos"
        "|cambiamos|pasamos|migramos|empezamos|preferimos|alojamos|desplegamos|movimos"
        "|subimos|bajamos"
    ),
    rewritten=(
        (r"\bdel\b", "de el"),
        (r"\bal\b", "a el"),
        ("[¿¡]", ""),
    ),
    values=(
        (r"\b(?:a las? )?(\d{1,2})(?::(\d\d))? (?:de la mañana)\b", r"\1:\2 am"),
        (r"\b(?:a las? )?(\d{1,2})(?::(\d\d))? (?:de la (?:tarde|noche))\b", r"\1:\2 pm"),
        (r"\ba las? (\d{1,2}):(\d\d)\b", r"\1:\2"),
        (r"\ba las? (\d{1,2})\b", r"\1:00"),
        (r"\b(\d{1,2}):(\d\d) ?h(?:oras|rs)?\b", r"\1:\2"),
        (r": (am|pm)\b", r" \1"),
        (r"\b(?:el )?(\d{1,2}) de (\w+)(?: de el? ?| de )(\d{4})\b", r"\1 \2 \3"),
        (r"\b(?:el )?(\d{1,2}) de (?=\w)", r"\1 "),
        (r"\b(?:el|los|la|las) (?=lunes|martes|miércoles|jueves|viernes|sábado|domingo)", ""),
        (r"\bpor ciento\b", "%"),
        (r"^de (?=\d)", ""),
        (" para ", " for "),
    ),
)
