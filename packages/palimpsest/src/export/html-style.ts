/** Light and dark, readable without scripts, printable. */
export const htmlStyle = `
:root{color-scheme:light dark;--ink:#1d2126;--faint:#5c6670;--paper:#fbfaf7;--card:#fff;--line:#dedad0;--user:#0b5a8a;--assistant:#2b6a39;--engine:#7a6a3a;--mark:#8a3d12;--code:#f3f1ea}
@media (prefers-color-scheme:dark){:root{--ink:#e4e2dc;--faint:#9aa2aa;--paper:#16181b;--card:#1d2024;--line:#34383d;--user:#7cc0ec;--assistant:#8fcf9d;--engine:#cdbb84;--mark:#e69a6b;--code:#24282c}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 ui-sans-serif,system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:56rem;margin:0 auto;padding:2rem 1.25rem 5rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1.15rem;margin:2.5rem 0 .75rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0 0 1.5rem;font-size:.9rem}
dt{color:var(--faint)}dd{margin:0;overflow-wrap:anywhere}
nav ol{margin:.5rem 0;padding-left:2rem}a{color:var(--user)}
article,.mark,details{border:1px solid var(--line);border-radius:.5rem;background:var(--card);margin:.75rem 0;padding:.6rem .9rem}
article>header{display:flex;flex-wrap:wrap;gap:.75rem;align-items:baseline;font-size:.85rem;color:var(--faint)}
article>header b{font-size:.95rem}
article{border-left:4px solid var(--line)}
.user{border-left-color:var(--user)}.user>header b{color:var(--user)}
.assistant{border-left-color:var(--assistant)}.assistant>header b{color:var(--assistant)}
.engine{border-left-color:var(--engine)}.engine>header b{color:var(--engine)}
.mark{border-style:dashed;border-color:var(--mark);font-size:.9rem;background:none}.mark b{color:var(--mark)}
.undone b{text-decoration:line-through}
.note{color:var(--faint);font-style:italic;font-size:.9rem;white-space:pre-wrap}
.text{white-space:pre-wrap;overflow-wrap:anywhere;margin:.5rem 0}
details{padding:.35rem .75rem}details details,article details{background:none}
summary{cursor:pointer;color:var(--faint);font-size:.9rem}
.error>summary{color:var(--mark)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--code);border-radius:.35rem;padding:.6rem .75rem;margin:.5rem 0;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.875em;background:var(--code);border-radius:.25rem;padding:0 .25em}
.id{font:12px ui-monospace,Menlo,Consolas,monospace;color:var(--faint);overflow-wrap:anywhere}
.call{margin:.75rem 0 .25rem}.call b{font-weight:600}
img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:.35rem}
@media print{body{background:#fff;color:#000;font-size:11pt}main{max-width:none;padding:0}article,.mark,details{break-inside:auto}nav{display:none}details::details-content{content-visibility:visible;block-size:auto}}
`.trim();
