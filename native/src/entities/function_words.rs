//! Small words of languages with capitals, by `words::form_of`: which of them stand inside names, and which begin a sentence with
//! a capital and name nothing. Languages without capitals have theirs in `entities::grammar_words`.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// Whether a word begins sentences with a capital and names nothing.
pub(crate) fn is_function_word(form: &str) -> bool {
    FUNCTION_WORDS.contains(form)
}

/// Whether a small word may stand inside one name, as "of" in "Bank of England".
pub(crate) fn joins_names(form: &str) -> bool {
    BEGINNING.contains(form) || JOINING.contains(form)
}

/// Whether a small word may begin a name, as in "The Hague" or "Los Angeles". No German article: with nouns in capitals any noun would be
/// a name.
pub(crate) fn begins_names(form: &str) -> bool {
    BEGINNING.contains(form)
}

/// Whether a small word may stand inside a name or between two, as "and".
pub(crate) fn parts_names(form: &str) -> bool {
    PARTING.contains(form)
}

static BEGINNING: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "the of de del della di da du do dos la las le les los lo el al bin ibn ben abu van von ten ter"
        .split_ascii_whitespace()
        .collect()
});

/// Small words that only join.
static JOINING: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "dello dei degli delle des das vom der den dem zu zum zur af av l d".split_ascii_whitespace().collect()
});

static PARTING: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "and in on at to for from with a an by or und et e y en i och og ve im am".split_ascii_whitespace().collect()
});

/// The commonest words of twelve languages, and the days of the week.
static FUNCTION_WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "a about after ayer gisteren hier ieri igar ontem wczoraj вчера again against all also although always am among an and another any are around as at away back be
    because been before being below between both but by can come could did do does down during each either else even ever
    every few first finally for from further get go had has have he hello help her here hers hey hi him his how however i
    id if ill im in indeed instead into is it its ive just last later let lets like look many may maybe me meanwhile might
    more most mr mrs ms much must my never new next no nor not nothing now of off often oh ok okay on once one only or
    other our ours out over perhaps please put quite rather really said second see several shall she should since so some
    something sometimes soon still such take than thank thanks that thats the their them then there therefore these they
    theyre this those though three through thus to today together tomorrow too two under unless until up upon us use very
    was wasnt we well went were what whats when whenever where whether which while who whose why will with within without
    wont would wow yeah yes yet you your youre
    monday tuesday wednesday thursday friday saturday sunday
    aber alle alles als also am an andere auch auf aus bei beide beim bin bis bist da dabei daher damals damit danach dann
    darauf das dass dein deine dem den denn der des deshalb die dies diese dieser dieses doch dort du durch ein eine einem
    einen einer eines einige er erst es etwa fur gegen gestern haben hat hatte heute hier hinter ich ihm ihn ihr ihre im
    in ist ja jede jeder jedes jetzt kann kein keine konnen man manche mehr mein meine mit nach neben nein nicht nichts
    noch nun nur ob oder ohne schon sehr sein seine seit selbst sich sie sind so solche soll sondern sowie trotz uber um
    und uns unser unter viele vom von vor wahrend wann war waren warum was weil welche wenn wer werden wie wieder will wir
    wird wo wurde wurden zu zum zur zwar zwei zwischen montag dienstag mittwoch donnerstag freitag samstag sonntag
    apres au aucun aussi autre aux avant avec beaucoup bien ca car ce cela celle celui ces cet cette chaque chez comme
    comment contre d dans de depuis des donc du elle elles en encore enfin ensuite entre est et eux il ils j je jusqu l la
    le les leur leurs lors lui m ma mais me meme merci mes moi mon n ne non nos notre nous on ou oui par parce pendant
    peut plus pour pourquoi puis qu quand que quel quelle qui quoi s sa sans se selon ses si son sous sur t tes toi ton
    toujours tous tout toute tres tu un une vers voici voila vos votre vous lundi mardi mercredi jeudi vendredi samedi
    dimanche
    ademas ahora al algunos ante antes aqui asi aunque cada casi con cuando cual de del desde despues donde durante e el
    ella ellas ellos en era es esa ese eso esta estas este esto estos fue gracias ha hasta hay hoy la las lo los luego mas
    me mi mientras muchos muy nada ni no nos nosotros nuestra nuestro o otra otro para pero poco por porque pues que quien
    se segun ser si siempre sin sobre solo su sus tambien tanto te tiene todo todos tras tu tus un una uno unos y ya yo
    lunes martes miercoles jueves viernes sabado domingo
    agli ai alla alle allo altri anche ancora c che chi ci cio come con cosi cui da dagli dai dal dalla degli dei del
    della delle dello dopo dove due durante ecco era essere fra gia gli grazie ha ho i il io loro lui ma mentre mia mio
    molti molto ne negli nei nel nella nelle nello noi nostro oggi ogni oltre per perche pero piu poi prima qua quale
    quando quella quelle quelli quello questa queste questi questo qui quindi secondo sempre senza si sono sopra sotto sua
    sue sugli sui sul sulla suo tra tutti tutto un una uno voi lunedi martedi mercoledi giovedi venerdi sabato domenica
    a ainda alem algumas ao aos apenas apos aquela aquele as ate com como da das de dela dele depois desde do dos e ela
    elas ele eles em entre essa esse esta este eu foi ha hoje isso isto ja mais mas me mesmo meu minha muito muitos na nao
    nas nem no nos nossa nosso num o onde os ou outra outro para pela pelo pois por porque quando que quem se sem sempre
    ser seu sim sob sobre sua tambem tem todos tudo um uma voce voces segunda terca quarta quinta sexta domingo
    aan al alle alleen als ander ben bij binnen daar daarna dan dat de deze die dit door dus een en er geen haar had heb
    heeft het hier hij hoe hun ik is ja je jij jullie kan maar meer met mijn na naar nee niet nog nu of om omdat ook onder
    onze op over sinds te tegen terwijl toch toen tot tussen uit uw van veel voor waar waarom wanneer want was wat we wel
    werd wie wij ze zich zij zijn zo zonder maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
    aby ale bo byl byla bylo co czy dla do gdy gdzie go ich jak jako je jednak jego jej jest jestem jeszcze kiedy ktora
    ktory kto lub ma mam mi moj moja my na nad nas nie no od on ona one oni oraz po pod podczas poniewaz przed przez przy
    sa sie swoj ta tak takze tam te tego ten to tu ty tylko w wedlug wiec wszystko wtedy z za ze
    alla allt att av bara blev da de den denna deras det detta dig din du efter eller en ett fick fran for ha han hans har
    hennes hon hur i inga inte ja jag kan man med men min mot mycket nagra nar ni nu och om pa sedan sin som till under
    upp ut vad var varfor vem vi vid vilken aer at blev dem dere deres ei etter fra hvem hvor hva ikke jeg kom mange
    ama ancak bana bazi ben beni bir biz bu bunlar cok cunku da daha de degil diger eger gibi hem her hic icin ile ise
    kadar ki kim mi nasil ne neden nerede o olan onlar onun sadece sen siz sonra su tum ve veya ya yani
    а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть
    еще же за здесь и из или им их к как какая какои когда кого которыи кто куда ли мне может мои мы на над нас наш не нет
    ни но ну о об один он она они оно от перед по под после потом почему при с сам свои себя сеичас со так также там тем
    теперь то тогда тоже только тот ты у уже хотя чего чем что чтобы эта эти это этот я понедельник вторник среда четверг
    пятница суббота воскресенье αλλα αν απο αυτη αυτο για δεν εγω ειναι εκει εμεις ενα ενας επισης η ηταν θα και κατα μας
    με μετα μια μου να ο οι οπως οταν οτι που πριν σας σε στη στην στο στον τα τη την της τι το τον του των ως"
        .split_ascii_whitespace()
        .collect()
});
