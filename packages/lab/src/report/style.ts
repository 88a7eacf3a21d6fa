/** Light and dark, printable. The colours of parts are told apart also by those who see red and green alike. */
export const reportStyle = `
:root{color-scheme:light dark;--ink:#1d2126;--faint:#5c6670;--paper:#fbfaf7;--card:#fff;--line:#dedad0;--good:#1f7a4d;--bad:#b3401a;--header:#0b5a8a;--written:#d1660a;--output:#a33a86;--refetch:#b3261e;--read:#4aa9b5;--behind:#b4b8bd}
@media (prefers-color-scheme:dark){:root{--ink:#e4e2dc;--faint:#9aa2aa;--paper:#16181b;--card:#1d2024;--line:#34383d;--good:#6fcf97;--bad:#ef8a62;--header:#6db8ea;--written:#f2a154;--output:#e08fc8;--refetch:#f2665a;--read:#3f8c98;--behind:#5d636a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 ui-sans-serif,system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:76rem;margin:0 auto;padding:2rem 1.25rem 5rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}
h2{font-size:1.3rem;margin:2.5rem 0 .5rem}
h3{font-size:1rem;margin:1.75rem 0 .4rem}
p{margin:.4rem 0;max-width:48rem}.note{color:var(--faint);font-size:.9rem}
.card{border:1px solid var(--line);border-radius:.5rem;background:var(--card);padding:.9rem;overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.8rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .4rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
thead th{color:var(--faint);font-weight:600;vertical-align:bottom}
th:first-child,td:first-child{text-align:left}
tr:last-child td{border-bottom:0}.group{border-bottom:0;text-align:center}
.good{color:var(--good)}.bad{color:var(--bad)}.failed td{color:var(--faint)}
svg{display:block;width:100%;height:auto;font:12px ui-sans-serif,system-ui,sans-serif}
svg text{fill:var(--ink)}svg .end{text-anchor:end}svg .middle{text-anchor:middle}
svg .grid{stroke:var(--line)}svg .axis{stroke:var(--faint);stroke-dasharray:3 3}
ul.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;margin:.6rem 0 0;padding:0;font-size:.85rem}
ul.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:.2rem;margin-right:.35rem;vertical-align:-.08rem}
figure{margin:0}figcaption{font-size:.85rem;font-weight:600;text-align:center}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr));gap:1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;font-size:.9rem}dt{font-weight:600}dd{margin:0;color:var(--faint)}
@media print{body{background:#fff;color:#000;font-size:10pt}main{max-width:none;padding:0}.card{break-inside:avoid}}
`.trim();
