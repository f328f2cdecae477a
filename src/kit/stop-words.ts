// Words that carry no topic, for fourteen large languages: they end a key phrase (tags.ts), the grammatical ones among them
// tell a language (language.ts), and a question of nothing else goes on with the last one (answer/follow-up.ts). Searching
// does not use them.

const LISTS: Readonly<Record<string, string>> = {
  en: `a about above according across actually after again against ago all almost along already also although always am
    among an and another any anyone anything are aren't around as ask asked at away back be became because become been
    before began behind being below best better between big both bring but by call came can can't cannot come comes could
    couldn't day days did didn't do does doesn't doing don't done down due during each either else end enough especially
    etc even ever every everyone everything feel few find first for found from further gave get gets getting give given go
    goes going gone good got great had has have haven't having he he's her here hers herself hey hi him himself his how
    however i i'd i'll i'm i've if in including instead into is isn't it it's its itself just keep kept kind know known
    last later least less let let's like likely little long look lot lots made main mainly make makes making many may
    maybe me mean might mine more moreover most mr mrs much must my myself need needs never new next nice no nor not
    nothing now of off often oh ok okay old on once one ones only or other others our ours out over own part particular
    people per perhaps possible put quite rather really respectively right said same saw say says second see seen
    several shall she she's should shouldn't show showed shown since so some something soon still such sure take taken
    tell than thank thanks that that's the their theirs them themselves then there there's therefore these they
    they're thing things think third this those though three through thus time times to today together told tomorrow too
    took toward towards two under until up upon us use used uses using usually various very via want wanted was wasn't
    way we we'll we're we've well went were weren't what what's when where whereas whether which while who whole whom
    whose why will with within without won't work would wouldn't wow yeah year years yes yesterday yet you you'd you'll
    you're you've your yours yourself associated based compared decrease decreased different effect effects high higher
    important increase increased low lower number play plays result results role significant significantly similar
    studies study suggest suggests`,
  de: `ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei beim
    beide beiden bin bis bist da dabei dadurch dafür dagegen daher damit danach dann daran darauf das dass daß davon dazu dein
    deine dem den denen denn der deren des dessen deshalb dich die dies diese diesem diesen dieser dieses dir doch dort du
    durch ein eine einem einen einer eines einige einigen einmal er es etwa etwas euch euer für ganz gegen gestern gibt ging habe
    haben hat hatte hatten heute hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in ins ist ja jede
    jedem jeden jeder jedes jetzt kann kein keine keinem keinen keiner kommt können könnte konnte machen mal man mehr mein
    meine mich mir mit morgen muss müssen nach neue neuen nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem
    seinen seiner seit sich sie sind so sogar solche soll sollte sondern sowie über um und uns unser unsere unter viel
    viele vom von vor wann war waren warum was weil weiter welche welcher wenn wer werde werden wie wieder will wir wird
    wo worden wurde wurden während zu zum zur zwar zwei zwischen`,
  fr: `à afin ai ainsi alors après as au aucun aujourd'hui aussi autre autres aux avait avec avoir beaucoup bien bon c'est
    ça car ce cela celle celui ces cet cette ceux chaque chez comme comment contre d'un d'une dans de depuis des deux dit
    dont donc du elle elles en encore entre es est et étaient était été être eu eux faire fait faut fois font ici il ils
    j'ai je jour la là le les leur leurs lors lui ma mais me même mes mieux moi moins mon n'est ne ni nos notre nous on ont
    ou où par parce pas pendant peu peut peuvent plus plusieurs pour pourquoi puis qu'il qu'elle qu'un quand que quel
    quelle quelques qui quoi rien s'est sa sans se selon sera ses seulement si son sont sous sur ta te tes toi ton toujours
    tous tout toute toutes très trois trop tu un une va vers voir vos votre vous y`,
  es: `a al algo algunas algunos además ahora ante antes aquí así aunque bajo bien cada casi como cómo con contra cual
    cuando cuál de del desde después donde dos durante e el él ella ellas ellos en entre era eran es esa esas ese eso esos
    esta está estaba están estar estas este esto estos estoy fue fueron gran ha había hace hacer hacia han hasta hay he hoy
    la las le les lo los luego más me mejor menos mi mí mis mientras mismo mucho muchos muy nada ni no nos nosotros nuestra
    nuestro o os otra otras otro otros para parte pero poco por porque pues puede pueden que qué quien quién se sea según
    ser si sí siempre sido sin sino sobre solo sólo son soy su sus tal también tan tanto te tener tenía ti tiempo tiene
    tienen toda todas todo todos tras tu tú un una unas uno unos usted va vez y ya yo`,
  it: `a ad agli ai al alla alle allo altra altre altri altro anche ancora aveva avere c'è che chi ci ciò come con contro
    cosa così cui da dagli dai dal dalla dalle dall' degli dei del della delle dello dell' di dopo dove due durante e è ed era
    erano essere fa fare fatto fino fra già gli ha hai hanno ho i il in io la le lei li lo loro lui ma me mentre mi mia mio
    molto ne negli nei nel nella nelle nello nell' noi non nostra nostro nulla o ogni oggi oltre per perché però più poco poi
    prima proprio può qua quale quali quando quanto quasi quella quelle quelli quello questa queste questi questo qui se
    sei sempre senza si sia sono sopra sotto stata stati stato su sua sue sugli sui sul sulla sulle suo suoi tanto te ti tra
    tre tu tua tuo tutta tutte tutti tutto un una uno va verso vi voi`,
  pt: `a à ainda além algo alguns algumas ante antes ao aos apenas após aquela aquele aqueles as às assim até bem cada com
    como contra cujo da das de dela dele deles depois desde dessa desse desta deste do dois dos durante e é ela elas ele
    eles em entre era eram essa essas esse esses esta está estão estar estas estava este estes eu faz fazer foi foram há
    hoje isso isto já la lhe lo logo mais mas me mesma mesmo meu meus minha muito muitos na nada não nas nem nessa nesse
    nesta neste no nos nós nossa nosso num numa o onde os ou outra outras outro outros para pela pelas pelo pelos pode
    podem por porque pouco qual quais quando que quem se seja sem sempre ser será seu seus si sido sob sobre só sua suas
    também tão te tem têm tempo ter tinha toda todas todo todos tu tudo um uma umas uns vai vez você vocês`,
  nl: `aan aangezien achter af al alle alleen alles als altijd ander andere anders ben bij bijna binnen daar daarna daarom dan
    dat de der deze die dit doch doen door dus een en er erg even gaan gaat geen geweest haar had hadden heb hebben heeft
    heel hem het hier hij hoe hun iemand iets ik in is ja je jij jullie kan kon kunnen laat maar maken me meer men met
    mij mijn moest moet moeten na naar nadat niet niets nog nu of om omdat onder ons onze ook op over per reeds sinds
    slechts steeds te tegen ten ter terwijl toch toen tot tussen twee u uit uw van vanaf veel veel voor vooral waar waarom
    wanneer want waren was wat we weer wel werd werden wie wij wil worden wordt zal ze zeer zelf zich zij zijn zo zoals
    zonder zou zouden`,
  pl: `a aby ale albo ani bardzo bez bo by był była było były być ci ciebie co czy czyli dla do dwa gdy gdzie go i ich ile im
    inne innych ja jak jako je jednak jego jej jest jestem jeszcze jeśli już każdy kiedy która które którego której który
    których którzy kto lub ma mają mam mi mnie może można mój my na nad nam nas nasz nawet nic nich nie nim niż no o od on
    ona one oni oraz po pod podczas ponieważ poza przed przez przy są się sobie swoje swój ta tak także tam te tego tej ten
    też to tu tych tylko tym ty u w wam wie wiele więc wszystkie wszystko wtedy we z za że ze został została`,
  ru: `а без более больше будет будто бы был была были было быть в вам вас весь во вот все всего всех всю вы где да даже два
    для до другой другие его ее её если есть еще ещё же за здесь и из или им их к как какая какой когда кого конечно которая
    которого которой которые который которых кто куда ли лишь между меня мне может можно мой моя мы на над надо нас наш не
    него нее неё нет ни них ничего но ну о об один он она они оно от очень перед по под после потом потому почти при про раз
    с сам свою свои своих себе себя сейчас со так также такой там тем теперь то тогда того тоже той только том тот три тут
    ты у уже хотя хорошо чего чем через что чтоб чтобы эта эти этих это этого этой этом этот эту я является`,
  sv: `alla allt att av bara blev bli blir de dem den denna deras dess det detta dig din ditt du där då efter ej eller en
    er ett från för få får genom ha hade han hans har hela henne hennes hon honom hur här i icke ingen inom inte ja jag
    kan kommer kunde man med mellan men mer mig min mitt mot mycket måste ni nu någon något några när nästa och också om
    oss på samma sedan sig sin sina sitt ska skall skulle som så sådan till under upp ut utan vad var vara varför varit
    vem vi vid vilken vill är än ännu åt över`,
  tr: `acaba ama ancak artık aslında az bana bazı belki ben benim beni beri bir biraz birçok biri birkaç biz bize bizim böyle
    bu buna bunda bundan bunlar bunu bunun burada bütün çok çünkü da daha de değil diğer diye dolayı eğer en gibi göre
    hangi hatta hem henüz hep hepsi her hiç için ile ise işte kadar karşı kendi kez ki kim kimse mi mı mu mü nasıl ne neden
    nerede o olan olarak oldu olduğu olmak olsa olur ona ondan onlar onu onun öyle pek sadece sanki sen senin siz sonra şey
    şimdi şu tarafından tüm üzere var ve veya ya yani yapmak yer yine yok zaten`,
  zh: `一个 一些 一样 一种 不是 不会 不能 也是 了解 他们 以及 以后 以前 但是 作为 你们 使用 其中 其他 具有 到了 却是 只是 可以 可能 各种 各个
    同时 后来 因为 因此 如何 如果 它们 对于 就是 已经 并且 应该 开始 当时 很多 怎么 我们 所以 所有 才能 按照 是否 有些 有的 根据 没有 为了 然后
    由于 现在 的话 目前 知道 自己 许多 认为 许多 能够 虽然 表示 觉得 起来 还有 还是 这个 这些 这样 这种 这里 进行 通过 那个 那些 那么 那里 部分
    都是 需要 非常 今天 明天 昨天 今年 去年 什么 时候 之后 之前 之间 大家 包括 等等`,
};

/**
 * Words that have a meaning of their own, but are no topic: verbs of English that stand between two phrases, and the names
 * of numbers and months; the stop words of languages that their script tells. Not part of `LISTS`, by which language.ts knows
 * a language.
 */
const TOPICLESS: Readonly<Record<string, string>> = {
  en: `abstract accept accepted achieve achieved act acted acting add added adding affect affected affects aim aimed allow allowed
    allowing allows analyze analyzed announced appear appeared appearing appears apply applied approximately arise arising
    arises assess assessed assessing attempt attempted award awarded begin begins begun believe believed belong belongs bear
    bears born brought build built calculate calculated carried carries carry carrying cause caused causes causing choose
    choosing chose chosen combined combine commonly compare compares comprise comprises comprised concern concerned
    conclude concluded conclusion conclusions conducted confer confers consider considered considering consist consisted
    consisting consists contain contained containing contains continue continued contribute contributed contributes create
    created creating currently cut date deal deals decide decided define defined defines demonstrate demonstrated
    demonstrates derive derived describe described describes describing design designed despite detect detected determine
    determined determines determining develop developed developing directed direct discuss discussed discusses edit edited
    emerge emerged emerges employ employed employing enable enabled enables enter entered establish established evaluate
    evaluated examine examined example examples exhibit exhibited exhibits exist existing exists expect expected experience
    experienced explain explained explore explored extend extended extends fail failed fall falls fell feature featured
    features featuring finally focus focused focuses follow followed following follows form formed forming forms frequently
    general generally generate generated generates grow growing grown happen happened held help helped helping helps hold
    holds identify identified identifies impact implicated improve improved improves include included includes indicate
    indicated indicates induce induced induces inhibit inhibited inhibits introduce introduced investigate investigated
    involve involved involves involving issue issues join joined knew largely latter lead leading leads leave leaves led
    left lie lies linked list listed lists live lived lives located locate located lose lost maintain maintained
    maintains mediate mediated meet met modified move moved moving named name names native notable note noted observe
    observed obtain obtained obtaining occur occurred occurring occurs offer offered offers older open opened order
    originally pass passed perform performed performing performs permit persist persists place placed play played player
    players playing point points possess potential potentially predict predicted presence present presented presents prevent
    prevented previously produce produced produces producing propose proposed prove proved provide provided provides
    providing publish published purpose raise raised randomly range ranged ranges ranging reach reached read receive
    received receives recent recently record recorded reduce reduced reduces reducing refer referred refers reflect regard
    regarded regards regulate regulated regulates relate related relatively release released releases remain remained
    remains remove removed report reported reporting reports represent represented represents require required requires
    resulted resulting retain return returned reveal revealed reveals rise rose run running seek seeks select selected send
    sent separate serve served serves serving set sets share shared situated solved sought speak spoke stand stands star
    starred starring stars start started starts stated stay stood studied subjected succeed succeeded support
    supported supports talk talking targeted tend test tested took total treat treated try trying turn turned
    undergo underwent underscore understand understood unknown unlike value values vary varied varies view wait walk wear
    win winning wins won write writes writing written wrote yield yielded yields aims average background certain common constant introduction materials method methods objective objectives entire
    fifth final fourth full fundamental great greater greatest key large larger largest near overall own
    previous primary principal rapid rapidly recent related second short similar single small smaller specific third total
    true twice unique whole wide widely young younger amount case cases degree fact form group groups half kind life lot
    member members name number part percent period place problem question rate reason section side sort step term terms
    type types unit january february march april may june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday four five six seven eight nine ten eleven twelve twenty hundred
    hundreds thousand thousands million millions billion dozen morning afternoon evening night week weeks month months
    hour hours minute minutes afterwards currently happy nice sounds awesome amazing cool glad love loved`,
  de: `januar februar märz april juni juli august september oktober november dezember montag dienstag mittwoch donnerstag
    freitag samstag sonntag drei vier fünf sechs sieben acht neun zehn hundert tausend million millionen milliarden prozent
    jahr jahre jahren tag tage tagen woche wochen monat monate uhr ende beispiel teil mal zeit`,
  fr: `janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi
    vendredi samedi dimanche quatre cinq sept huit neuf dix cent mille million millions milliard milliards an ans année
    années mois semaine semaines heure heures fin exemple partie`,
  es: `enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes miércoles jueves
    viernes sábado domingo tres cuatro cinco seis siete ocho nueve diez cien mil millón millones año años mes meses semana
    semanas día días hora horas ejemplo`,
  it: `gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre lunedì martedì mercoledì
    giovedì venerdì sabato domenica quattro cinque sette otto nove dieci cento mille milione milioni anno anni mese mesi
    settimana settimane giorno giorni ora ore esempio`,
  pt: `janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro segunda-feira terça-feira
    quarta-feira quinta-feira sexta-feira sábado domingo três quatro cinco seis sete oito nove dez cem mil milhão milhões ano
    anos mês meses semana semanas dia dias hora horas exemplo`,
  nl: `januari februari maart april mei juni juli augustus september oktober november december maandag dinsdag woensdag
    donderdag vrijdag zaterdag zondag drie vier vijf zes zeven acht negen tien honderd duizend miljoen miljard jaar jaren
    maand maanden week weken dag dagen uur voorbeeld`,
  pl: `stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia poniedziałek wtorek
    środa środę czwartek piątek sobota sobotę niedziela niedzielę trzy cztery pięć sześć siedem osiem dziewięć dziesięć sto
    tysiąc tysięcy milion milionów rok roku lat lata miesiąc tydzień dzień dni godzina przykład`,
  ru: `января февраля марта апреля мая июня июля августа сентября октября ноября декабря понедельник вторник среда среду
    четверг пятница пятницу суббота субботу воскресенье четыре пять шесть семь восемь девять десять сто тысяч тысяча
    миллион миллионов год года году лет месяц месяца неделя неделю день дня дней час часов пример`,
  sv: `januari februari mars april maj juni juli augusti september oktober november december måndag tisdag onsdag torsdag
    fredag lördag söndag tre fyra fem sex sju åtta nio tio hundra tusen miljon miljoner år månad månader vecka veckor dag
    dagar timme timmar exempel`,
  tr: `ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık pazartesi salı çarşamba perşembe cuma
    cumartesi pazar iki üç dört beş altı yedi sekiz dokuz on yüz bin milyon milyar yıl yılı yılında ay hafta gün saat örnek`,
  zh: `一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月 星期一 星期二 星期三 星期四 星期五 星期六 星期日 周一 周二 周三 周四 周五
    周六 周日 百分之 小时 分钟 星期 上午 下午 晚上 早上 第一 第二 第三 问题 情况 方面 工作 非常 完全 直到 上午 年前 年来`,
  ko: `그리고 그러나 하지만 그래서 그런데 또는 또한 및 등 것 것은 것이 것을 것이다 수 때 때는 때의 더 덜 가장 매우 아주 너무 잘 못 안 이 그 저 이것
    그것 저것 여기 거기 저기 여기서 거기서 우리 우리는 저희 나는 내가 너는 당신 그녀 그들 누구 누가 무엇 무엇을 뭐 어디 어디에 어디서 언제 왜 어떻게 얼마 얼마나
    어느 어떤 무슨 몇 동안 때문 때문에 위해 위한 위해서 대해 대한 통해 따라 따른 관한 관해 후 후에 전 전에 뒤 뒤에 앞 앞에 중 중에 사이 사이에 다음 다음에 이후
    이전 지금 오늘 어제 내일 매일 매년 매주 항상 자주 가끔 다시 또 이미 아직 바로 먼저 나중에 함께 같이 모두 모든 각각 여러 많은 많이 많다 조금 약간 거의 약
    정도 정도의 있다 있는 있었다 있고 있어 없다 없는 없이 하다 하는 하고 한다 했다 된다 되는 되어 되었다 됐다 이다 아니다 아닌 같은 같다 처럼 만약 한 두 세 네 다른
    이런 그런 저런 이렇게 그렇게 가지 번 번째 개 명 시 분 초 년 월 일 부터 까지 에서 에게`,
  th: `และ หรือ แต่ ที่ ซึ่ง อัน ว่า ของ ใน นอก บน ใต้ กับ แก่ แด่ ต่อ โดย จาก ถึง เพื่อ สำหรับ ตาม ระหว่าง ก่อน หลัง หลังจาก เมื่อ ขณะ
    จน จนถึง ตั้งแต่ เพราะ เนื่องจาก ดังนั้น ถ้า หาก แม้ อย่าง เช่น คือ เป็น อยู่ มี ได้ ให้ ไป มา แล้ว จะ กำลัง เคย ยัง ไม่ ไม่ใช่ ต้อง ควร อาจ ก็
    นี้ นั้น โน้น นี่ นั่น ทุก แต่ละ บาง หลาย มาก น้อย ที่สุด กว่า เท่า เท่าไร เพียง เท่านั้น อีก ด้วย กัน เอง ใคร อะไร ไหน เมื่อไร อย่างไร ทำไม
    ฉัน ผม เรา คุณ เขา เธอ มัน พวก คน สิ่ง การ ความ ครั้ง วันนี้ พรุ่งนี้ เมื่อวาน ตอน ช่วง ราว ประมาณ เกือบ ทั้ง ทั้งหมด`,
};

/** The languages that have a list, as in BCP 47. */
export const STOP_WORD_LANGUAGES: readonly string[] = Object.keys(LISTS);

/** Whether a language has a list of its own. */
export function hasStopWords(language: string): boolean {
  return Object.hasOwn(LISTS, primaryOf(language));
}

const sets = new Map<string, ReadonlySet<string>>();

/**
 * The stop words of a language, lower case. For a language without a list, and for `und`, those of all lists: a key
 * phrase lost is better than a tag that says "with".
 * @param language BCP 47; only its first part counts.
 */
export function stopWordsOf(language: string): ReadonlySet<string> {
  return setOf("grammar", language);
}

/** The stop words of a language and those of its words that are no topic, lower case; as `stopWordsOf` for the others. */
export function topiclessWordsOf(language: string): ReadonlySet<string> {
  return setOf("topicless", language);
}

function setOf(kind: "grammar" | "topicless", language: string): ReadonlySet<string> {
  const list = hasStopWords(language) ? primaryOf(language) : "";
  const key = `${kind} ${list}`;
  let set = sets.get(key);
  if (set === undefined) {
    const words = [LISTS, ...(kind === "topicless" ? [TOPICLESS] : [])].map(
      (lists) => lists[list] ?? Object.values(lists).join(" "),
    );
    set = new Set(words.join(" ").trim().split(/\s+/));
    sets.set(key, set);
  }
  return set;
}

function primaryOf(language: string): string {
  return language.toLowerCase().split("-", 1)[0] ?? "";
}
