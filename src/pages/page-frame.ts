// What every page has: one file of HTML with its style, no script, and a policy that lets it fetch nothing.
import { html } from './html.ts';
import { modeRules } from './mode-styles.ts';

const pageStyle = `
:root{color-scheme:light dark;--paper:#fff;--ink:#1a1a1a;--soft:#5a5a5a;--line:#c9c9c9;--still:#e9e9e9}
@media screen and (prefers-color-scheme:dark){:root{--paper:#141414;--ink:#f0f0f0;--soft:#b5b5b5;--line:#4a4a4a;--still:#2a2a2a}}
body{margin:0 auto;padding:1rem;max-width:46rem;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .4rem}h3{font-size:1rem;margin:.6rem 0 0}ul{margin:.2rem 0;padding-left:1.2rem}summary{padding:.4rem 0}p{margin:.4rem 0}.soft{color:var(--soft)}
svg{display:block;width:100%;height:auto}.patterns{position:absolute;width:0;height:0}.pt{fill:var(--c)}.tile{fill:var(--paper)}.core{fill:none;stroke:var(--paper);stroke-linejoin:round}
.bar .still{fill:var(--still)}.on{stroke:var(--c)}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}.tick{stroke:var(--line)}
.map{border:1px solid var(--line);border-radius:4px;margin:.6rem 0}
.way{fill:none;stroke:var(--c);stroke-linejoin:round}
.case{fill:none;stroke:var(--paper);stroke-width:8}.ring{fill:none;stroke:var(--line)}.north{fill:var(--ink)}.scale{fill:none;stroke:var(--ink)}
.stop,.spot{fill:var(--paper);stroke:var(--ink);stroke-width:1.5}.spot{stroke-width:3}.rt,.pn{stroke:var(--paper);stroke-width:4;paint-order:stroke}.pn{font-weight:650}
table{border-collapse:collapse;width:100%;margin:.6rem 0}.wide{overflow-x:auto}
th,td{text-align:left;padding:.25rem .5rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}th{font-weight:600}
td.w{white-space:nowrap}td svg{display:inline-block;width:auto;height:.75rem}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}caption{text-align:left;color:var(--soft)}
.key{white-space:nowrap;margin-right:1rem}.key svg{display:inline-block;width:3.75rem;height:.75rem;vertical-align:middle;margin-right:.4rem}
nav a{color:inherit;margin-right:.8rem;display:inline-block;padding:.4rem 0;min-width:24px}
a:focus-visible,summary:focus-visible,.wide:focus-visible{outline:3px solid var(--bicycling);outline-offset:2px}
@media print{body{max-width:none;padding:0}nav{display:none}h2{break-after:avoid}section{break-inside:avoid}.wide{overflow:visible}}
`.trim();

/** A page that needs nothing else and may fetch nothing. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${html(title)}</title><style>${pageStyle}${modeRules()}</style></head>
<body>${body}</body></html>
`;
}
