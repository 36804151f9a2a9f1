"""Texts that have nothing to do with each other: what an embedder makes of unrelated questions and
memories is measured on them (`noise.py`).

Everyday and working life, in groups of one language each, since some models place all texts of a
language that they were not trained on near each other. A pair of the same subject is rare enough
not to matter.
"""

from __future__ import annotations

from typing import NamedTuple


class Texts(NamedTuple):
    """Questions and statements of one language."""

    questions: tuple[str, ...]
    statements: tuple[str, ...]


ENGLISH = "en"
TEXTS: dict[str, Texts] = {
    "en": Texts(
        (
            "Where did I leave the charger for the camera?",
            "What time does the pharmacy close on Saturdays?",
            "Who is going to water the plants while we are away?",
            "What was the name of the restaurant by the harbour?",
            "Why was the delivery late?",
            "What did the teacher say about the homework?",
            "How much did the repair of the roof cost?",
            "Where does my uncle work?",
            "How old is the cat?",
            "What did we decide about the budget?",
            "Which port does the proxy listen on?",
            "What database does the billing system use?",
            "Who is on call this weekend?",
            "Which customer complained about the invoice?",
            "What is the discount for annual plans?",
            "Which font do we use on the website?",
            "Is he allergic to anything?",
            "Do they have children?",
            "Did the team win on Sunday?",
            "What instrument does her brother play?",
            "How do I usually take my tea?",
            "What was the result of the blood test?",
            "What was the topic of the essay?",
            "Which programming language should I learn?",
        ),
        (
            "The charger for the camera is in the blue drawer.",
            "The pharmacy closes at one on Saturdays.",
            "Our neighbour waters the plants while we are away.",
            "The restaurant by the harbour is called Marlin.",
            "The delivery was late because of the strike.",
            "My uncle works for the railway.",
            "The warranty of the washing machine ends in June.",
            "We decided to cut the travel budget by a third.",
            "The proxy listens on port 8443.",
            "Backups are encrypted with a key from the vault.",
            "Ines is on call this weekend.",
            "The customer from Lyon complained about the invoice.",
            "We hired a candidate from Oslo for the sales position.",
            "The website uses the font Inter.",
            "He is allergic to cats.",
            "The team lost on Sunday.",
            "We watched a documentary about whales.",
            "Her brother plays the trumpet.",
            "The blood test was fine.",
            "The essay is about the French Revolution.",
            "I am learning to program in Python.",
            "Yeah, that sounds great! Let me know how it goes.",
            "Thanks, I really appreciate your support.",
            "I have been so busy lately with work and the kids.",
        ),
    ),
    "de": Texts(
        (
            "Wann kommt der Handwerker wegen der Heizung?",
            "Wie heißt die neue Kollegin?",
            "Was hat der Arzt gesagt?",
            "Wo haben wir das Auto geparkt?",
            "Wie viel kostet das Zimmer pro Nacht?",
            "Wer hat das Spiel gewonnen?",
        ),
        (
            "Der Handwerker kommt am Donnerstag wegen der Heizung.",
            "Die neue Kollegin heißt Frau Berger.",
            "Der Arzt hat mir Ruhe verordnet.",
            "Das Zimmer kostet achtzig Euro pro Nacht.",
            "Meine Tochter spielt Fußball.",
            "Wir haben am Bahnhof geparkt.",
        ),
    ),
    "es": Texts(
        (
            "¿A qué hora sale el tren?",
            "¿Cuál es la contraseña del correo?",
            "¿Dónde vive mi primo?",
            "¿Quién ganó el partido?",
            "¿Cuánto cuesta la entrada?",
            "¿Cómo se llama su perro?",
        ),
        (
            "El tren sale a las ocho.",
            "Mi primo vive en Valencia.",
            "El proyecto usa MySQL.",
            "Su perro se llama Toby.",
            "La reunión se aplazó una semana.",
            "A mi hermana le gusta cocinar.",
        ),
    ),
    "fr": Texts(
        (
            "Où avons-nous rangé les clés ?",
            "Quel est le nom de son mari ?",
            "Quand finit le contrat ?",
            "Combien d'invités seront là ?",
            "Qui s'occupe du jardin ?",
            "Pourquoi le train est-il en retard ?",
        ),
        (
            "Les clés sont dans le tiroir.",
            "Son mari s'appelle Laurent.",
            "Le contrat finit en mars.",
            "Le voisin s'occupe du jardin.",
            "Nous serons une vingtaine à table.",
            "Mon fils apprend le piano.",
        ),
    ),
    "it": Texts(
        (
            "Qual è il nome del gatto?",
            "Dove abbiamo lasciato la macchina?",
            "Quando parte il volo?",
            "Em que cidade mora o João?",
            "Quanto custou o conserto?",
            "Quem vai à reunião amanhã?",
        ),
        (
            "Il gatto si chiama Micio.",
            "La macchina è davanti alla stazione.",
            "Il volo parte alle sette.",
            "O João mora em Coimbra.",
            "O conserto custou cem euros.",
            "A reunião foi adiada.",
        ),
    ),
    "zh": Texts(
        (
            "我的护照放在哪里?",
            "会议什么时候开始?",
            "他喜欢吃什么?",
            "医生说了什么?",
            "昨天谁打了电话?",
            "房租是多少钱?",
        ),
        (
            "我的护照放在抽屉里。",
            "会议下午三点开始。",
            "他喜欢吃面条。",
            "医生让我多休息。",
            "昨天是老板打来的电话。",
            "房租每个月三千块。",
        ),
    ),
    "ja": Texts(
        (
            "鍵はどこに置きましたか。",
            "会議は何時からですか。",
            "彼の仕事は何ですか。",
            "サーバーのバージョンは?",
            "誰が電話してきましたか。",
            "旅行はいつですか。",
        ),
        (
            "鍵は机の上に置きました。",
            "会議は十時からです。",
            "彼は看護師です。",
            "サーバーは昨日更新しました。",
            "母から電話がありました。",
            "旅行は来月です。",
        ),
    ),
    "ko": Texts(
        (
            "열쇠를 어디에 두었나요?",
            "회의는 언제 시작하나요?",
            "동생은 무슨 일을 하나요?",
            "어떤 데이터베이스를 쓰나요?",
            "어제 누가 전화했나요?",
            "방값은 얼마인가요?",
        ),
        (
            "열쇠는 서랍 안에 있습니다.",
            "회의는 세 시에 시작합니다.",
            "동생은 간호사입니다.",
            "우리는 MySQL을 씁니다.",
            "어제 어머니가 전화했습니다.",
            "고양이는 세 살입니다.",
        ),
    ),
    "ru": Texts(
        (
            "Где лежат документы?",
            "Когда день рождения у бабушки?",
            "Как зовут нового соседа?",
            "Какую базу данных мы используем?",
            "Сколько стоит билет?",
            "Что сказал врач?",
        ),
        (
            "Документы лежат в шкафу.",
            "У бабушки день рождения в мае.",
            "Нового соседа зовут Игорь.",
            "Мы используем MySQL.",
            "Билет стоит сто рублей.",
            "Врач советовал больше гулять.",
        ),
    ),
    "ar": Texts(
        (
            "أين وضعت المفاتيح؟",
            "متى يبدأ الاجتماع؟",
            "ما اسم الجار الجديد؟",
            "كم سعر التذكرة؟",
            "ماذا قال الطبيب؟",
            "من اتصل أمس؟",
        ),
        (
            "المفاتيح في الدرج.",
            "يبدأ الاجتماع في الساعة الثالثة.",
            "اسم الجار الجديد كريم.",
            "سعر التذكرة عشرون دينارا.",
            "نصحني الطبيب بالراحة.",
            "اتصلت أمي أمس.",
        ),
    ),
    "hi": Texts(
        (
            "चाबी कहाँ रखी है?",
            "बैठक कब शुरू होगी?",
            "नए पड़ोसी का नाम क्या है?",
            "टिकट कितने का है?",
            "डॉक्टर ने क्या कहा?",
            "कल किसने फ़ोन किया?",
        ),
        (
            "चाबी दराज़ में है।",
            "बैठक तीन बजे शुरू होगी।",
            "नए पड़ोसी का नाम रवि है।",
            "टिकट दो सौ रुपये का है।",
            "डॉक्टर ने आराम करने को कहा।",
            "कल माँ का फ़ोन आया था।",
        ),
    ),
}
