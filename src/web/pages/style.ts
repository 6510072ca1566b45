import { modeRules } from './mode-styles.ts';

/** Sizes are in rem, so that a larger font of the reader enlarges everything. */
export const pagesStyle = `
:root{color-scheme:light dark;--paper:#fff;--wash:#f5f5f2;--ink:#16191d;--soft:#565c64;--line:#dcddd8;--edge:#858b93;
--home:#e8ddc9;--work:#d0deeb;--place:#e2e3de;--warn:#fff1c9;--warnink:#573f00;--bad:#a8201a;--badwash:#fdeceb}
@media screen and (prefers-color-scheme:dark){.base{filter:invert(1) hue-rotate(180deg)}:root{--paper:#121417;--wash:#1c1f23;--ink:#eceef0;--soft:#a9b0b8;--line:#32373d;
--edge:#7b828b;--home:#54472f;--work:#2b445c;--place:#3b4046;--warn:#3a2e0c;--warnink:#ffdf8a;--bad:#ff9d94;--badwash:#3a1917}}
*,:before,:after{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums}
h1{font-size:1.625rem;line-height:1.2;font-weight:700;letter-spacing:-.015em;margin:0}
h2{font-size:1.25rem;line-height:1.3;font-weight:650;letter-spacing:-.01em;margin:2rem 0 .5rem}
h3{font-size:1rem;line-height:1.5;font-weight:650;margin:0}h1,h2{text-wrap:balance}h1,h2,h3,.lead,.btn,button,dt{overflow-wrap:anywhere;hyphens:auto;min-width:0}.btn,button,label{max-width:100%}
p{margin:.5rem 0;max-width:46rem}ul,ol{margin:0;padding:0;list-style:none}
.soft{color:var(--soft)}.small{font-size:.875rem;line-height:1.45}.lead{font-size:1.125rem;margin:.25rem 0 0}.lead:first-letter{text-transform:uppercase}
.vh{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
a{color:inherit;text-decoration-thickness:1px;text-underline-offset:.2em}a:hover{text-decoration-thickness:2px}
:focus-visible{outline:3px solid var(--ink);outline-offset:2px;border-radius:2px}
.skip{position:absolute;left:-99em}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.75rem;z-index:9}
.top{border-bottom:1px solid var(--line)}.in,main,.bottom{max-width:68.75rem;margin:0 auto;padding:0 1rem}
.in{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;column-gap:.75rem}
.in nav{display:flex;flex-wrap:wrap;gap:0 .5rem}
.in nav a,.in nav button,.brand{display:inline-flex;align-items:center;min-height:2.75rem;min-width:2.75rem;justify-content:center;text-decoration:none;font-size:.9375rem}
.brand{font-weight:650;font-size:.875rem;overflow-wrap:anywhere}.in nav a{color:var(--soft)}
.in nav a[aria-current]{color:var(--ink);font-weight:650;box-shadow:inset 0 -3px var(--ink)}
.in nav button{border:0;padding:0;font-weight:400;color:var(--soft);background:none}
main{padding-top:1.25rem;padding-bottom:3rem}.narrow{max-width:40rem}
.bottom{padding-top:1rem;padding-bottom:2rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
.bottom a,.bottom nav span{display:inline-flex;align-items:center;min-height:2.75rem;min-width:2.75rem;margin-right:1.25rem}
.others{fill:none;stroke:var(--line);stroke-width:2;stroke-linejoin:round}.one:target .case{stroke:var(--ink);stroke-width:9}.map:has(.one:target) .one:not(:target){opacity:.35}.map{scroll-margin-top:1rem}.map-link:before{content:none!important}.fold,summary,details,.m,.row .c{min-width:0;max-width:100%;overflow-wrap:anywhere}
svg{display:block;overflow:visible}svg svg{overflow:hidden}svg text{font-size:12px;fill:var(--ink)}svg .t2{fill:var(--soft)}
.patterns{position:absolute;width:0;height:0}.pt{fill:var(--c)}.tile,.cut{fill:var(--paper)}
.ic{width:1.25rem;height:1.25rem;flex:none;fill:none;stroke:var(--c,currentColor);stroke-width:1.75;stroke-linecap:round;stroke-linejoin:round}
.ic .f{fill:var(--c,currentColor);stroke:none}
code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.875em;background:var(--wash);padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}

.btn,button{font:inherit;font-weight:600;display:inline-flex;align-items:center;justify-content:center;gap:.5rem;min-height:2.75rem;padding:.5rem 1rem;border:1.5px solid var(--edge);border-radius:6px;background:var(--paper);color:var(--ink);text-decoration:none;cursor:pointer}
.go{background:var(--ink);border-color:var(--ink);color:var(--paper)}.danger{border-color:var(--bad);color:var(--bad)}
.note{background:var(--warn);color:var(--warnink);border-radius:6px;padding:.5rem .75rem;margin:.75rem 0;max-width:46rem}
.note.bad{background:var(--badwash);color:var(--bad)}.note.quiet{background:var(--wash);color:var(--ink)}.note h2{margin:0}
.saved{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:0 .5rem;align-items:center;background:var(--paper)}.saved .note{flex:1 14rem;margin:.5rem 0}:target{scroll-margin-top:6rem}
.acts{display:flex;flex-wrap:wrap;gap:.5rem;padding:.5rem 0}
label span,legend{font-weight:650;padding:0;margin-bottom:.25rem;display:block}label{display:block;margin:1rem 0}
input:not([type=radio]),select{font:inherit;color:inherit;width:100%;min-height:2.75rem;padding:.375rem .75rem;border:1.5px solid var(--edge);border-radius:6px;background:var(--paper)}
fieldset{border:0;padding:0;margin:0;min-width:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,7rem),1fr));gap:.5rem}
.tile2{position:relative;display:flex;align-items:center;gap:.25rem;min-height:2.75rem;padding:.25rem .375rem;margin:0;border:1.5px solid var(--edge);border-radius:6px;background:var(--paper);line-height:1.2;font-size:.9375rem;overflow-wrap:anywhere;min-width:0}
.tile2 input{appearance:none;position:absolute;opacity:0}.tile2 span{font-weight:400;margin:0}.tile2 :checked~span{font-weight:650}
.tile2 :checked~span:before{content:"";position:absolute;inset:-1.5px;border:3px solid var(--ink);border-radius:6px}
.tile2 :focus-visible~span:after{content:"";position:absolute;inset:-6px;border:3px solid var(--ink);border-radius:9px}
summary,.fold{cursor:pointer;min-height:2.75rem;display:inline-flex;align-items:center;gap:.25rem;font-size:.9375rem;list-style:none;text-decoration:none}
summary>span,.fold>span{text-decoration:underline;text-underline-offset:.2em;text-decoration-thickness:1px}summary::-webkit-details-marker{display:none}
summary:before,.fold:before{content:"+";font-weight:700;display:inline-block;width:.75rem}details[open]>summary:before{content:"–"}
.facts{margin:1rem 0 0;border-top:1px solid var(--line)}.facts div{display:grid;grid-template-columns:8.5rem 1fr;gap:.5rem;padding:.5rem 0;border-bottom:1px solid var(--line)}
.facts dt{color:var(--soft)}.facts dt:first-letter{text-transform:uppercase}.facts dd{margin:0;overflow-wrap:anywhere}
.card{background:var(--wash);border-radius:8px;padding:1rem;margin:1rem 0}.card h2{margin:0}
.cards{display:grid;gap:1rem;margin-top:1.5rem}.cards .card{margin:0}

.band{fill:var(--place)}.band.home{fill:var(--home)}.band.work{fill:var(--work)}
.hole{fill:none;stroke:var(--edge);stroke-dasharray:3 3}.tick{stroke:var(--edge)}.on{stroke:var(--c);stroke-width:1.5}
.hd{display:flex;align-items:center;gap:.5rem;margin:0 -.5rem}.hd h1{flex:1;text-align:center;font-size:1.25rem}.hd h2{margin:0;flex:1;text-align:center}.hd h1:first-letter,.hd h2:first-letter{text-transform:uppercase}.hd .soft{font-weight:400}
.step{width:44px;height:44px;display:grid;place-items:center;text-decoration:none;font-size:1.75rem;line-height:1;flex:none}
.week{display:grid;grid-template-columns:repeat(auto-fit,minmax(2.75rem,1fr));margin:.5rem 0 1rem;border-bottom:1px solid var(--line)}
.week a,.week li>span{display:grid;text-align:center;text-decoration:none;padding:.375rem 0 .5rem;min-height:2.75rem}
.week a>span:last-child,.week li>span{display:grid;justify-items:center}.week i,.week em{font-style:normal;font-size:.8125rem;line-height:1.3;color:var(--soft)}
.week b{font-weight:500;font-size:1.0625rem;line-height:1.4}.week li>span b{color:var(--soft)}.week svg{margin:2px 0 3px}
.week [aria-current]{box-shadow:inset 0 -3px var(--ink)}.week [aria-current] b{font-weight:700}.week [aria-current] i,.week [aria-current] em{color:var(--ink)}
.rows a,.hours{display:flex;flex-wrap:wrap;gap:.25rem .5rem;align-items:center;text-decoration:none;font-size:.875rem}.rows a>svg,.hours svg{flex:1 1 7rem;min-width:0}.rows span{flex:0 0 6rem;min-width:0;white-space:nowrap}.rows .n{flex-basis:3rem}.rows .n+.n{flex-basis:4rem}.rows h2 .soft{flex:none}
.rows li{border-bottom:1px solid var(--line);min-height:2.75rem}.rows a:hover{background:var(--wash)}.rows h2{font-size:1rem;margin:1rem 0 .25rem;display:flex;justify-content:space-between}
.hours{position:sticky;top:0;background:var(--paper);padding-top:.5rem;z-index:1;color:var(--soft)}.rows .mk{display:grid;margin:0}
.o0{fill:none;stroke:var(--edge);stroke-dasharray:2 2}.o1{fill:var(--edge)}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.25rem 0 .75rem}.legend li{display:flex;align-items:center;gap:.5rem}.key{width:2.125rem;height:.625rem}
.map{width:100%;height:auto;border:1px solid var(--line);border-radius:8px;background:var(--paper)}
.base{opacity:.55}
.ring{fill:none;stroke:var(--line)}.rt{font-size:11px}.rt,.pn{stroke:var(--paper);stroke-width:4;paint-order:stroke}
.way{fill:none;stroke:var(--c);stroke-linejoin:round}.core,.case{fill:none;stroke:var(--paper);stroke-linejoin:round}.case{stroke-width:8}
.stop{fill:var(--paper);stroke:var(--ink);stroke-width:1.5}.spot{fill:var(--paper);stroke:var(--ink);stroke-width:3}
.pn{font-size:14px;font-weight:650}.north{fill:var(--ink)}.scale{fill:none;stroke:var(--ink);stroke-width:1.5}

.rail{margin-top:1rem}.row{display:grid;grid-template-columns:2.75rem 1.75rem minmax(0,1fr);min-height:2.25rem}
.row .t{font-size:.875rem;line-height:1.5rem;padding-top:.375rem}
.row .c{padding:.375rem 0;display:flex;flex-wrap:wrap;column-gap:.5rem;align-items:baseline;justify-content:space-between}
.row p,.row details[open],.row form,.row .note{flex-basis:100%;max-width:none;margin:0}.note form{border:0!important}.note label{margin:.5rem 0}.row .d{margin-left:auto;text-align:right;font-size:.9375rem}.row .m{display:inline-flex;gap:.5rem;align-items:center}
.ln{position:relative;background-repeat:no-repeat;background-position:50% 0;background-size:8px 100%}
.stay .ln{background-image:linear-gradient(var(--b,var(--place)),var(--b,var(--place)))}.stay .home{--b:var(--home)}.stay .work{--b:var(--work)}
.stay .ln:before{content:"";position:absolute;left:50%;top:.625rem;width:14px;height:14px;margin-left:-7px;border:3px solid var(--ink);border-radius:50%;background:var(--paper)}
.stay{min-height:3.5rem}.stay .acts{flex-basis:100%;gap:0 1rem;padding:0}.bare{min-height:.625rem}.stay .c{padding-bottom:.75rem}
.trip .c{background:var(--wash);padding-left:.625rem;padding-right:.625rem}.trip .head .c{border-radius:8px 8px 0 0;padding-top:.625rem}
.trip .foot .c{border-radius:0 0 8px 8px;padding-top:0;padding-bottom:.125rem;justify-content:flex-start;column-gap:1.5rem;min-height:.5rem}
.thin{background-image:linear-gradient(var(--edge),var(--edge));background-size:2px 100%}.sec .c{align-items:center}.head.sec .t{padding-top:.625rem}
.ln.walking{background-image:radial-gradient(circle at 4px 4px,var(--c) 3.2px,transparent 3.8px);background-size:8px 9px;background-repeat:repeat-y}
.ln.bicycling{background-image:linear-gradient(var(--c) 70%,transparent 70%);background-size:8px 14px;background-repeat:repeat-y}
.ln.bus{background-image:linear-gradient(90deg,var(--c) 32%,var(--paper) 32% 68%,var(--c) 68%)}.ln.car{background-image:linear-gradient(var(--c),var(--c))}
.ln.train{background-image:linear-gradient(var(--c) 50%,transparent 50%),linear-gradient(90deg,var(--c) 25%,transparent 25% 75%,var(--c) 75%);background-size:8px 8px,8px 100%;background-repeat:repeat-y}
.ln.vehicle{background-image:linear-gradient(var(--c) 55%,transparent 55% 70%,var(--c) 70% 85%,transparent 85%);background-size:8px 20px;background-repeat:repeat-y}
.ln.other{background-image:linear-gradient(var(--c) 35%,transparent 35%);background-size:8px 12px;background-repeat:repeat-y}
.gap .ln{background-image:linear-gradient(var(--edge) 50%,transparent 50%),linear-gradient(var(--edge) 50%,transparent 50%);background-size:1.5px 6px;background-repeat:repeat-y;background-position:calc(50% - 4px) 0,calc(50% + 4px) 0}
.gap .c{border:1.5px dashed var(--edge);border-radius:8px;padding:.5rem .75rem .75rem;margin:.25rem 0}.gap .t{padding-top:.75rem}.gap p{margin-top:.25rem}
.why li{margin:.25rem 0}.stated{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;justify-content:space-between;border-bottom:1px solid var(--line);padding:.5rem 0;max-width:33rem}
.stay form{padding:.5rem 0}.trip .acts form{border:0;padding:0}.trip form{border-top:1px solid var(--line);padding:.75rem 0 .5rem}

.asof{font-size:.875rem;font-weight:400;color:var(--soft);letter-spacing:0;margin-left:.5rem}
.nums{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,8.5rem),1fr));gap:.5rem;margin:1rem 0}.nums a{display:block;text-decoration:none;border:1.5px solid var(--line);border-radius:8px;padding:.625rem .875rem .75rem;height:100%}.nums a:hover{border-color:var(--edge)}
.nums [aria-current]{border-color:var(--ink);box-shadow:inset 0 -3px var(--ink)}.nums b{display:block;font-size:2.125rem;line-height:1.1;font-weight:700}.nums span{font-weight:650}.nums i{display:block;font-style:normal;font-size:.8125rem;line-height:1.35;color:var(--soft)}
.above{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;justify-content:space-between;margin:1rem 0 .5rem}.turn a{display:inline-grid;place-items:center;min-width:2.75rem;min-height:2.75rem}.turn [aria-current]{font-weight:700}
table{border-collapse:collapse;width:100%}th,td{text-align:left;font-weight:400;padding:.375rem .75rem .375rem 0;border-bottom:1px solid var(--line);vertical-align:top;line-height:1.375rem}
thead th{vertical-align:bottom;font-size:.875rem;padding-top:0;padding-bottom:0;border-bottom:1.5px solid var(--ink);color:var(--soft)}thead a{display:inline-flex;min-height:2.75rem;min-width:2.75rem;align-items:center;color:var(--soft)}.ns{padding-bottom:.7rem}
[aria-sort] a{color:var(--ink);font-weight:650}tbody th{font-weight:650}tbody th a{display:inline-block;min-height:1.5rem;min-width:2.75rem}.sm{display:block;font-size:.8125rem;line-height:1.125rem;color:var(--soft)}.n{text-align:right;white-space:nowrap}.figures .n{padding-left:.5rem}.figures thead .n{white-space:normal}.figures .case{stroke-width:4}.figures [scope=colgroup]{border-bottom:1px solid var(--edge);color:var(--ink);font-weight:650}.wide{overflow-x:auto}
.st{margin-top:.125rem}.sa{fill:var(--edge)}.se{stroke:var(--bad);stroke-width:2}.lab{display:none}.quiet .w{color:var(--soft)}tr:not(.quiet) .w{font-weight:650}.w .sm,th .sm{font-weight:400}.flag{color:var(--bad)}
.mk{display:inline-grid;place-items:center;width:1.125rem;height:1.125rem;border-radius:50%;font-size:.75rem;line-height:1;margin-right:.375rem;background:var(--warn);color:var(--warnink)}.mk.refused,.mk.behind{background:var(--bad);color:var(--paper)}.mk.never_began{background:none;box-shadow:inset 0 0 0 1.5px var(--edge);color:transparent}.mk.in_order{display:none}
.chain li{position:relative;padding:.25rem 0 .25rem 1.75rem;border-left:3px solid var(--ink);margin-left:.5rem}.chain li:before{content:"";position:absolute;left:-9px;top:.5rem;width:15px;height:15px;border:3px solid var(--ink);border-radius:50%;background:var(--paper)}
.chain .after{border-left-style:dotted;color:var(--soft)}.chain .after:before{border-color:var(--edge)}.chain .broken:before{border-color:var(--bad);background:var(--bad)}.chain .broken{font-weight:650;border-left-style:dotted}
@media(min-width:56rem){.nums{grid-template-columns:repeat(4,1fr);gap:.75rem}}
@media(max-width:55.99rem){.rows a,.hours{gap:.25rem;font-size:.75rem}.rows span{flex-basis:5.25rem}.rows .n{font-size:.75rem;flex-basis:2.25rem}.rows .n+.n{flex-basis:3.375rem}.asof{display:block;margin:0}.above .btn{width:100%}.folk,.folk tbody,.folk tr,.folk th,.folk td{display:block;border:0;padding:0}.folk thead tr{display:flex;flex-wrap:wrap;column-gap:1rem;border-bottom:1.5px solid var(--ink)}.folk thead th{border:0}.folk thead tr:before{content:attr(data-words);flex-basis:100%;font-size:.875rem;color:var(--soft)}.folk thead .ns{display:none}
.folk tbody tr{display:grid;grid-template-columns:minmax(0,1fr) 9rem;column-gap:.75rem;border-bottom:1px solid var(--line);padding:.625rem 0}td.c{grid-column:2;grid-row:1;justify-self:end}td.w{grid-column:1;grid-row:2}.folk td.n{font-size:.8125rem;line-height:1.125rem;color:var(--soft);white-space:normal;text-align:left}
.lab{display:inline}.lab:after{content:":"}:lang(fr) .lab:after{content:" :"}}
@media screen and (max-width:55.99rem){.figures,.figures tbody,.figures th,.figures td{display:block;border:0;padding:0}.figures thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.figures tbody tr{display:grid;grid-template-columns:1fr 1fr;gap:.125rem .75rem;border-bottom:1px solid var(--line);padding:.625rem 0}.figures tbody th{order:-2}.figures td:last-child{order:-1}.figures .n{padding:0;font-size:.875rem;text-align:left;white-space:normal}.figures .n:nth-child(10){grid-column:1/-1}}
.find{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin:1rem 0}.find label{margin:0}
.points li{display:flex;gap:.75rem;padding:.375rem 0}.points .ic{margin-top:.125rem}
.steps>li{display:grid;grid-template-columns:2rem minmax(0,1fr);gap:.75rem;padding-bottom:1.5rem;position:relative}
.steps>li:not(:last-child):before{content:"";position:absolute;left:14px;top:1rem;bottom:0;width:4px;background:var(--ink)}
.step-no{position:relative;width:2rem;height:2rem;border-radius:50%;border:3px solid var(--ink);background:var(--paper);display:grid;place-items:center}
.steps h3{font-size:1.125rem;line-height:2rem}.steps p{margin:.125rem 0 .625rem}.steps .go{width:100%;min-height:3.25rem}
.qr{background:#fff;border-radius:8px;width:14rem;padding:.25rem}.qr svg{width:100%;height:auto}.on-desk{display:none}
@media(hover:hover) and (pointer:fine){.on-phone{display:none}.on-desk{display:block}}

@media(max-width:55.99rem){.yr{position:absolute;clip-path:inset(50%)}}
@media(min-width:56rem){h1{font-size:1.75rem}.hd{margin:0}.hd h1,.hd h2{flex:none;order:-1;margin-right:1rem;font-size:1.75rem}.week{max-width:33rem;margin:.5rem 0 1.5rem}
.cols{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:3rem}.cols .list{order:-1}.rail{margin-top:0}.mapc{position:sticky;top:1rem;align-self:start}
.row{grid-template-columns:3.25rem 2rem minmax(0,1fr)}.cards{grid-template-columns:repeat(3,1fr)}}
@media print{nav,.btn,button,.fold,details,form,.skip,.step,.bottom{display:none!important}main,.in{max-width:none;padding:0}*{print-color-adjust:exact}
.yr{position:static;clip-path:none}.hd{margin:0}.hd h1{text-align:left}.cols{display:block}.mapc{max-width:60%}.rows{zoom:.75}.rows li{min-height:0}.rows a>svg,.rows .mk{margin:-4px 0}.rows h2{margin:.25rem 0 0}.row,tr{break-inside:avoid}h2,h3{break-after:avoid}}
${modeRules()}
`.trimStart();
