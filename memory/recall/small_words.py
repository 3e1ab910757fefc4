"""Words that say nothing of what a text is about, in ten languages.

Of grammar, of asking, of small talk (greetings, thanks, assent, and to go on), and of change: that
something is not any more as it was. In scripts without blanks between words they are pieces of a
text.
"""

from __future__ import annotations

GRAMMAR = {
    "en": """
a about above after again all am an and any are as at be because been before being below between
both but by can could did do does doing down during each few for from further had has have having
he her here hers herself him himself his how i if in into is it its itself just let me more most
my myself no nor not now of off on once only or other our ours ourselves out over own same she
should so some such than that the their theirs them themselves then there these they this those
through to too under until up us very was we were what when where which while who whom whose why
will with would you your yours yourself yourselves s t d ll m re ve don didn doesn isn aren wasn
weren won wouldn couldn shouldn hasn haven hadn ain im ive id also get got getting really yeah yes
oh wow hey hi hello thanks thank well okay ok like might may must shall please sure
""",
    "de": """
der die das den dem des ein eine einen einem einer eines und oder aber doch nicht kein keine
keinen ist sind war waren wird werden wurde hat haben hatte bin bist sein ihr ihre ihren uns unser
unsere unserem unseren ich du er sie es wir man mich mir dich dir sich ihm ihn euch von vom zu zum
zur mit bei beim fur auf aus an am im in nach uber um unter vor durch gegen ohne bis seit als wie
dass ob wenn weil da hier dort so auch noch nur schon sehr mal ja nein denn dann jetzt nun damit
dazu daran darf durfen kann konnen soll sollen muss mussen mochte will wollen gibt macht
eigentlich etwas alles diese dieser dieses diesen jede jeder
""",
    "es": """
el la los las lo un una unos unas y o u pero no ni es son era eran fue ser esta estan estar ha han
haber hay tiene tienen tenemos tener yo tu el ella ellos nosotros me te se nos le les mi mis su
sus nuestro nuestra nuestros nuestras de del a al en con por para sin sobre entre hasta desde como
que si ya muy mas menos tambien aqui alli ahora este esta estos estas ese esa eso esto aquel asi
algo todo todos toda puede podemos puedo debe debo va van hace hacer hablo refiero digo
""",
    "fr": """
le la les l un une des du de d et ou mais ne pas n non est sont etait etaient etre ete a ont avait
avoir ai as avons je j tu il elle on nous vous ils elles me m te t se s lui leur mon ma mes ton ta
son sa ses notre nos votre vos leurs ce c cet cette ces ca cela qui que qu dont au aux en dans par
pour avec sans sur sous entre vers chez jusque depuis comme si tres plus moins aussi ici la bien y
tout toute tous toutes peut peux doit dois faut fait faire va etes suis meme alors donc car
""",
    "ru": """
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было
вот от меня еще нет о об из ему теперь когда даже ну вдруг ли если уже или ни быть был была были
него до вас нибудь опять уж вам ведь там потом себя ничего ей может они тут где есть надо ней для
мы тебя их чем сам чтоб без будто чего раз тоже себе под будет ж тогда этот эта это эти того
потому этого какой совсем ним здесь этом один почти мой моя наш наша наши нам нас тем чтобы сейчас
можно нельзя нужно про при над между через мной тот той этой
""",
    "ar": """
في من على الى إلى عن مع هذا هذه ذلك تلك التي الذي الذين هو هي هم نحن انا أنا أنت انت كان كانت يكون
قد لا لم لن ما و او أو ثم ان أن إن لكن بل كل بعد قبل عند عندما حتى اذا إذا حين بين كما مثل غير منذ
هنا هناك الان الآن جدا فقط ايضا أيضا له لها لهم لنا لي لك به بها فيه فيها عليه عليها منه منها يا
بشأن بخصوص اي أي شيء يجب يمكن ليس اجل أجل
""",
    "zh": """
的 了 是 在 有 我们 你们 他们 咱们 我 你 他 她 它 这个 那个 这 那 和 与 跟 或 但是 但 不过 因为
所以 也 都 就 还 又 很 请 把 被 让 给 对于 关于 对 从 到 向 于 而 之 其 以 可以 能不能 能 会 要
应该 该 一下 一个 吧 呢 吗 啊 呀 嘛 着 过 们
""",
    "ja": """
です ます でした ました ません ください 下さい こと もの ため よう という について として から
まで より この その あの これ それ あれ ここ そこ して する した している います いる ある
あります なる
""",
    "ko": """
입니다 습니다 합니다 있습니다 이에요 예요 어요 아요 해요 나요 까요 네요 군요 지요 에서 에게 에는
으로 는 은 를 을 의 에 도 와 과 하고 그리고 그런데 하지만 우리 저희 제가 저는 그 이 저 것 수 있 없
하 님 씨
""",
    "th": """
ที่ ของ และ หรือ แต่ ก็ ว่า ให้ ได้ จะ เป็น คือ มี ไม่ใช่ ไม่ ใน บน กับ จาก ไป มา อยู่ แล้ว นี้
นั้น ถึง เพื่อ สำหรับ เกี่ยวกับ เรื่อง ครับ ค่ะ คะ นะ จ้ะ เรา ผม ฉัน คุณ เขา มัน ต้อง ควร อาจ ถ้า
เพราะ โดย ด้วย แค่ กัน
""",
}

ASKING = {
    "en": """
what which who whom whose when where why how say says said tell tells told think thinks thought
mention mentioned know knows known opinion remember remind recall ask asked happen happened
anything something somebody someone anyone anybody everything
""",
    "de": """
was wer wen wem wessen wann wo wohin woher womit worauf wofur woruber warum wieso weshalb wie
welche welcher welches welchen welchem wieviel viele sagt sagte gesagt meint meinte denkt dachte
weiss wissen frage fragen erzahl erinnere erinnern meinung jemand irgend irgendetwas passiert
""",
    "es": """
que quien quienes cual cuales cuando donde adonde como cuanto cuanta cuantos cuantas porque dijo
dice dijeron piensa pienso cree opina opinion sabe sabemos saber pregunto preguntar recuerda
cuenta alguien algo paso
""",
    "fr": """
que quoi qui quel quelle quels quelles quand ou comment combien pourquoi lequel laquelle dit
disait pense penses croit avis sait savons savoir demander demande rappelle rappeler quelqu chose
arrive
""",
    "ru": """
что кто кого кому кем чей чья чье когда где куда откуда почему зачем как какой какая какое какие
какого каком сколько который которая сказал сказала говорит говорил думает думал мнение знаем
знает знать спросить спроси помнишь напомни скажи подскажи случилось кто-то
""",
    "ar": """
ماذا متى أين اين كيف لماذا كم هل قال قالت يقول يظن تظن رأي نعرف يعرف أعرف اسأل أسأل اسال تذكر
ذكرني أحد احد حدث
""",
    "zh": """
什么时候 什么 怎么样 怎么 怎样 多少 多久 哪个 哪些 哪里 哪天 哪位 哪 谁 为什么 为何 几号 几点 几
何时 是否 请问 知道 觉得 说过 认为 看法 想法 问 告诉
""",
    "ja": """
何ですか 何番 何日 何時 何人 何 なに 誰 どなた だれ いつ どこ どの どれ どう どちら なぜ どうして
いくつ いくら 教えて 知って 思って 思う 言って 言う 言った 聞け 聞く 覚えて 意見
""",
    "ko": """
무엇 무슨 뭐라고 뭐 뭘 누구 누가 언제 어디 어느 어떤 어떻게 왜 얼마 몇 며칠 말했 생각 물어 알고
알려 기억 의견
""",
    "th": """
อะไร ใคร เมื่อไหร่ เมื่อไร ที่ไหน ไหน ทำไม อย่างไร ยังไง เท่าไหร่ เท่าไร กี่ ไหม มั้ย หรือเปล่า
หรือยัง หรือไม่ บอก พูด คิด ถาม รู้ จำ ความเห็น
""",
}

CHAT = {
    "en": """
good morning afternoon evening night day bye goodbye welcome cheers thx ty great nice cool perfect
awesome excellent wonderful lovely fine alright right agreed lgtm sounds sound looks look seems
fun funny haha lol sorry worries problem wait hold done job work works working helpful help helped
continue proceed go going ahead run runs rerun try retry repeat redo start stop finish ship merge
approve commit push write make show give see later tomorrow today tonight soon back everyone
everybody folks guys team friend friends much many lot lots happy weekend one two three next first
last time bit little idea sense never mind come please it
""",
    "de": """
gut guten gute guter morgen tag abend nacht tschuss hallo moin servus danke dank vielen vielmals
bitte super toll prima klasse perfekt genau stimmt klar okay ok passt klingt sieht aus lass los
leg weiter mach mache machen nochmal nochmals noch einmal erneut wieder versuch versuche probier
starte start stopp halt merge einspielen rein hilfreich geholfen leute zusammen alle allen team
heute spater gleich bald schon wochenende feierabend sorry entschuldigung kein problem zeit eins
zwei fertig weitermachen schau lauf laufen
""",
    "es": """
buenos buenas dias tardes noches dia hola adios hasta luego manana gracias muchas mucho favor
genial perfecto excelente estupendo bien vale ok claro listo bueno buena acuerdo parece suena ve
mira adelante continua continuar sigue seguir corre ejecuta lanza haz intenta intentalo prueba
otra vez nuevo nuevamente merge sube subelo ayuda ayudo util utilidad gran equipo chicos todos hoy
pronto tarde perdon siento jaja jajaja feliz finde semana problema preocupes tiempo uno dos
""",
    "fr": """
bonjour bonsoir salut coucou bonne bon journee soiree nuit matin revoir bientot demain merci
beaucoup plait super genial parfait excellent top cool bien ok accord entendu compris ca marche
air semble continue continuer vas y allez allons lance relance relancer execute essaie reessaie
encore nouveau fois fusionne merge envoie utile aide equipe monde tous aujourd hui tard desole
pardon haha souci probleme week-end pause temps un deux voila
""",
    "ru": """
доброе добрый утро день вечер ночи привет здравствуй здравствуйте пока до завтра встречи свидания
спасибо благодарю большое огромное пожалуйста отлично супер круто класс здорово прекрасно хорошо
ладно ок окей понятно понял поняла ясно согласен выглядит звучит давай давайте продолжай
продолжить дальше запусти перезапусти еще раз снова опять попробуй повтори сливай мержи выкатывай
помогло полезно всем всех ребята команда коллеги сегодня позже скоро извините простите хаха
выходных проблем время один два готово сделай
""",
    "ar": """
صباح مساء الخير النور مرحبا أهلا اهلا سلام السلام عليكم وداعا الى اللقاء شكرا جزيلا كثيرا فضلك
رجاء عفوا رائع ممتاز جيد جيدا جميل حسنا حسن تمام موافق مفهوم يبدو تابع استمر اكمل أكمل هيا شغل
شغّل اعد أعد حاول جرب مرة مرات اخرى أخرى ادمج ادمجه انشره مفيد مفيدا ساعدني جميعا الجميع فريق
اليوم غدا لاحقا آسف اسف هههه سعيد بأس مشكلة وقت واحد اثنان
""",
    "zh": """
早上好 上午好 下午好 晚上好 晚安 早安 你好 您好 大家好 大家 再见 明天见 谢谢 多谢 感谢 非常 太好了
太棒 很好 好的 好 不错 看起来 看上去 听起来 没问题 没关系 没事 明白 知道了 收到 继续 开始 再 一次
试试 试 重新 重 跑 运行 执行 合并 提交 发布 帮助 有帮 帮忙 帮 辛苦 加油 今天 明天 待会 晚点 抱歉
不好意思 哈哈 愉快 周末 时间 一 二 两
""",
    "ja": """
おはようございます おはよう こんにちは こんばんは おやすみ さようなら また明日 お疲れさま お疲れ様
お疲れ ありがとうございます ありがとう どうも すみません ごめん 了解 承知 分かりました
わかりました 大丈夫 良さそう いいですね いい 良い 最高 素晴らしい 完璧 続けて 続き 進めて どうぞ
はい もう一度 もう一回 再度 もう 実行 走らせ 試し やり直し マージ 助かり 皆さん みなさん みんな
今日 後で あとで 後ほど 一日 一 二 です お願い
""",
    "ko": """
안녕하세요 안녕 좋은 아침 저녁 하루 반가 고마워 고맙 감사 수고 좋아 좋습 좋은 좋 괜찮 최고 완벽
훌륭 멋 알겠 이해 네 예 응 그래 계속 진행 다시 한번 한 번 시도 돌려 돌리 실행 머지 병합 올리 올려
해보 해 보 주세요 주시 보여 보이 도움 됐 모두 다들 여러분 오늘 내일 나중 이따 미안 죄송 하하
즐거운 주말 시간 하나 둘 정말 아주 매우 큰
""",
    "th": """
สวัสดี อรุณสวัสดิ์ ราตรีสวัสดิ์ ตอนเช้า ตอนเย็น ลาก่อน ขอบคุณ ขอบใจ ขอโทษ ยินดี เยี่ยม ดีมาก ดูดี
ฟังดู ดี เลย โอเค ตกลง เข้าใจ รับทราบ ทำต่อ ต่อ ไปต่อ เริ่ม ลอง อีกครั้ง อีกที อีก ครั้ง รัน ทำ
เมิร์จ ปล่อย ช่วย มาก เยอะ ทุกคน พวกเรา วันนี้ พรุ่งนี้ เดี๋ยว ทีหลัง ฮ่า ไม่เป็นไร สนุก เวลา
หนึ่ง สอง
""",
}

CHANGE = {
    "en": """
moved move moves moving switched switch switches migrated migrate migrating replaced replaces
replace replacing instead longer anymore changed changes change dropped renamed postponed
rescheduled delayed cancelled canceled deprecated retired stopped now new updated handed successor
succeeds formerly previously gone abandoned swapped became replacement relocated upgraded
downgraded shifted supersedes superseded revised
""",
    "de": """
umgezogen umgestiegen umgestellt gewechselt wechseln wechselt migriert ersetzt ersetzen abgelost
stattdessen statt anstatt anstelle mehr geandert andert neu neue neuer neues neuen jetzt nun
verschoben verlegt abgesagt ubernimmt ubernommen ubergibt ubergeben nachfolger fruher bisher
ehemals abgeschafft abgeschaltet eingestellt umbenannt aktualisiert planandrung zustandigkeit
""",
    "es": """
movimos movio pasamos paso pasa pasado migramos migro migrado cambiamos cambio cambie cambiado
reemplazamos reemplazo reemplazado sustituimos sustituyo sustituido lugar vez ya ahora nuevo nueva
nuevos nuevas dejamos dejado pospuso pospuesto aplazo aplazado retraso cancelado relevo sucede
antes anteriormente actualizamos actualizado renombrado abandonamos
""",
    "fr": """
demenage migre migrons passe passes change changes changement remplace remplaces remplacement lieu
plus desormais maintenant nouveau nouvelle nouveaux nouvelles abandonne abandonnons reporte
repousse decale annule succede successeur avant auparavant ancien ancienne mis renomme reprend
bascule basculons
""",
    "ru": """
перешли перешел переехали переехал переехала мигрировали заменили заменил заменен заменена вместо
больше теперь сейчас новый новая новое новые сменил сменила сменили сменяет поменяли поменял
поменялся поменялись изменили изменился изменилась перенесли перенес отложили отменили отказались
убрали передали передал раньше прежде бывший уже переименовали обновили
""",
    "ar": """
انتقلنا انتقل انتقلت نقلنا هاجرنا غيرنا غيرت تغير تغيرت استبدلنا استبدلناه استبدل بدلا عوضا بدل
يعد تعد نعد الآن الان جديد جديدة الجديد الجديدة تركنا تخلينا تأجل تاجل أجلنا اجلنا ألغي الغي يتسلم
تسلم خلف سابقا حاليا تغيير تحديث حدثنا
""",
    "zh": """
迁移 迁到 换到 换成 改用 改成 改到 改为 改了 更换 替换 取代 代替 替代 不再 不用 现在 新的 推迟
延期 延后 提前 取消 接手 接管 交接 移交 弃用 停用 以前 之前 原来 变更 变了 改名 升级
""",
    "ja": """
移行 移り 移動 移し 変更 変わり 変わっ 変え 切り替え 乗り換え 置き換え 代わり かわり やめ もう
今は 今後 新しい 新た 延期 延び 中止 前倒し 引き継 交代 廃止 以前 これまで ではなく 更新
""",
    "ko": """
이전 옮겼 옮겨 옮김 바꿨 바꾸 바뀌 바뀐 변경 교체 대체 대신 더이상 더 이제 새로 새 미뤄 미뤘 연기
취소 넘겨받 넘겼 인수 전환 갈아 버리 폐기 중단 예전 갱신 아니라 아니고
""",
    "th": """
ย้าย เปลี่ยน แทน ไม่ได้ เลิก ตอนนี้ ใหม่ เลื่อน ยกเลิก รับช่วง ส่งต่อ เมื่อก่อน ก่อนหน้านี้ อัปเดต
ปรับ ไม่ใช่ แล้ว
""",
}

SMALL_WORDS = {"grammar": GRAMMAR, "asking": ASKING, "chat": CHAT, "change": CHANGE}
