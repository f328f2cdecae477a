"""Makes the pages of bench/ocr.ts: 36 pages of nine languages with known texts, clean and with defects.

    python3 bench/ocr-pages.py FOLDER

Needs Pillow and numpy, and the fonts DejaVu and Noto CJK (Debian: fonts-dejavu, fonts-noto-cjk).
"""

import sys, random, textwrap, json, os
from PIL import Image, ImageDraw, ImageFont, ImageFilter, ImageChops
import numpy as np
OUT=sys.argv[1]; os.makedirs(OUT,exist_ok=True); R=random.Random(7)
DJ='/usr/share/fonts/truetype/dejavu/'; CJK='/usr/share/fonts/opentype/noto/'
TEXTS={
'en':"The harbour library opened its reading room on 14 March. Visitors borrowed 2,317 books in the first month, above all novels and guides. The association painted the shelves and repaired two hundred volumes. Its sale in June brought £1,840, which paid for a new scanner. Anyone who wants to help can write to the desk or ring 020 7946 0018 between nine and noon.",
'de':"Die Bücherei am Hafen öffnete am 14. März ihren Lesesaal. Im ersten Monat wurden 2.317 Bücher ausgeliehen, vor allem Romane und Reiseführer. Der Förderverein strich die Regale und besserte zweihundert Bände aus. Der Verkauf im Juni brachte 1.840 €, wovon ein Scanner bezahlt wurde. Wer mithelfen möchte, schreibt an die Auskunft oder ruft zwischen neun und zwölf Uhr an.",
'fr':"La bibliothèque du port a ouvert sa salle de lecture le 14 mars. Les lecteurs ont emprunté 2 317 livres dès le premier mois, surtout des romans et des guides. L'association a repeint les étagères et réparé deux cents volumes. La vente de juin a rapporté 1 840 €, ce qui a payé un nouveau numériseur. Écrivez à l'accueil ou téléphonez entre neuf heures et midi.",
'es':"La biblioteca del puerto abrió su sala de lectura el 14 de marzo. Los visitantes se llevaron 2.317 libros en el primer mes, sobre todo novelas y guías. La asociación pintó los estantes y reparó doscientos volúmenes. La venta de junio dio 1.840 €, con los que se pagó un escáner. ¿Quiere ayudar? Escriba a la recepción o llame entre las nueve y el mediodía.",
'it':"La biblioteca del porto ha aperto la sala di lettura il 14 marzo. I visitatori hanno preso in prestito 2.317 libri già nel primo mese, perlopiù romanzi e guide. L'associazione ha ridipinto gli scaffali e riparato duecento volumi. La vendita di giugno ha fruttato 1.840 €, serviti per lo scanner. Chi vuole aiutare scriva alla reception o telefoni tra le nove e mezzogiorno.",
'pt':"A biblioteca do porto abriu a sua sala de leitura em 14 de março. Os visitantes levaram 2.317 livros no primeiro mês, sobretudo romances e guias. A associação pintou as estantes e reparou duzentos volumes. A venda de junho rendeu 1.840 €, que pagaram um novo digitalizador. Quem quiser ajudar não precisa de inscrição: escreva à receção ou telefone até ao meio-dia.",
'pl':"Biblioteka w porcie otworzyła czytelnię 14 marca. W pierwszym miesiącu wypożyczono 2317 książek, przede wszystkim powieści i przewodniki. Stowarzyszenie pomalowało półki i naprawiło dwieście tomów. Sprzedaż w czerwcu przyniosła 1840 zł, za które kupiono skaner. Kto chce pomóc, niech napisze do dyżurki albo zadzwoni między dziewiątą a dwunastą, także w święta.",
'ja':"港の図書館は三月十四日に閲覧室を開いた。最初の月に2317冊の本が貸し出され、多くは小説と旅行案内であった。友の会は書棚を塗り直し、二百冊を修理した。六月の販売会では18,400円が集まり、新しいスキャナーの代金になった。手伝いたい人は受付に手紙を書くか、九時から正午までに電話をかけてください。",
'zh':"港口图书馆于三月十四日开放了阅览室。第一个月共借出2317册图书，其中大多是小说和旅行指南。读者协会粉刷了书架，修补了二百册旧书。六月的义卖筹得18400元，用来购买新的扫描仪。愿意帮忙的人可以写信给服务台，或者在上午九点到中午十二点之间打电话。",
}
def font(lang,size): return ImageFont.truetype(CJK+'NotoSerifCJK-Regular.ttc',size,index=0 if lang=='ja' else 2) if lang in('ja','zh') else ImageFont.truetype(DJ+R.choice(['DejaVuSerif.ttf','DejaVuSans.ttf']),size)
def wrap(d,text,f,w,cjk):
    out=[];line=''
    for t in (list(text) if cjk else text.split(' ')):
        n=line+t if cjk else (line+' '+t).strip()
        if d.textlength(n,font=f)>w and line: out.append(line); line=t
        else: line=n
    return out+[line]
def page(lang,layout):
    im=Image.new('L',(1654,2339),255); d=ImageDraw.Draw(im); f=font(lang,30); cjk=lang in('ja','zh'); t=TEXTS[lang]
    if layout=='one':
        y=180
        for k in range(3):
            for l in wrap(d,t,f,1330,cjk): d.text((160,y),l,font=f,fill=20); y+=48
            y+=40
        truth=[t]*3
    elif layout=='two':
        for x in (130,870):
            y=180
            for k in range(2):
                for l in wrap(d,t,f,640,cjk): d.text((x,y),l,font=f,fill=20); y+=48
                y+=40
        truth=[t]*4
    else:
        y=180
        for l in wrap(d,t,f,1330,cjk): d.text((160,y),l,font=f,fill=20); y+=48
        y+=60; truth=[t]
        for k in range(9):
            cells=[f"A-{R.randint(100,999)}",str(R.randint(10,9999)),f"{R.randint(1,999)}.{R.randint(0,99):02}",R.choice(["red","blue","green"])]
            for x,c in zip((160,520,860,1200),cells): d.text((x,y),c,font=f,fill=20)
            truth+=cells; y+=54
    return im,truth
def defect(im,kind):
    a=np.asarray(im).astype(np.float32); rs=np.random.RandomState(3)
    if kind=='rotated': return im.rotate(R.uniform(-3,3),resample=Image.BICUBIC,fillcolor=250)
    if kind=='noise': return Image.fromarray(np.clip(a+rs.normal(0,28,a.shape),0,255).astype('uint8'))
    if kind=='blur': return im.filter(ImageFilter.GaussianBlur(1.6))
    if kind=='shadow':
        g=np.linspace(1,.45,a.shape[1])[None,:]*np.linspace(1,.8,a.shape[0])[:,None]; return Image.fromarray((a*g).astype('uint8'))
    if kind=='photo':
        w,h=im.size; q=im.transform((w,h),Image.PERSPECTIVE,find((0,0),(w,0),(w,h),(0,h),(60,90),(w-140,30),(w-20,h-60),(20,h-140)),Image.BICUBIC,fillcolor=90)
        b=np.asarray(q).astype(np.float32)*np.linspace(.75,1,w)[None,:]; return Image.fromarray(np.clip(b+rs.normal(0,8,b.shape),0,255).astype('uint8')).filter(ImageFilter.GaussianBlur(.8))
    return im
def find(*p):
    src,dst=p[:4],p[4:]; A=[];B=[]
    for (x,y),(u,v) in zip(src,dst):
        A+=[[u,v,1,0,0,0,-x*u,-x*v],[0,0,0,u,v,1,-y*u,-y*v]]; B+=[x,y]
    return np.linalg.solve(np.array(A,float),np.array(B,float))
K=['clean','rotated','noise','blur','shadow','photo']; L=['one','two','table']; n=0
for i,lang in enumerate(TEXTS):
    for j in range(4):
        layout=L[(i+j)%3]; kind=K[(i*4+j)%6]; im,truth=page(lang,layout); name=f"{lang}-{layout}-{kind}"
        defect(im,kind).save(f"{OUT}/{name}.png"); json.dump(truth,open(f"{OUT}/{name}.json","w"),ensure_ascii=False); n+=1
print(n,"pages")
