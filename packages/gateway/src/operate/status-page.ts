import { createHash } from "node:crypto";
import { describeHealth, formatDollars, formatShare } from "./status.ts";

const style = `
:root { color-scheme: light dark; --ink: #1d2127; --soft: #5d6773; --line: #d9dee4; --paper: #fff; --good: #1a7f4b; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaee; --soft: #9aa4b0; --line: #343b44; --paper: #15181c; --good: #5fd39a; --bad: #ff8a80; }
}
body { margin: 0 auto; max-width: 84rem; padding: 1.25rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0 0 1rem; }
h2 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1rem; margin: 0; }
dt, th, .soft { color: var(--soft); font-size: .85rem; font-weight: normal; }
dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .4rem 1rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { vertical-align: bottom; }
td { max-width: 24rem; overflow-wrap: break-word; }
td.short { max-width: 16rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
td.path { min-width: 8rem; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th.number { white-space: normal; }
.healthy { color: var(--good); }
.failing, #problem { color: var(--bad); }
@media (max-width: 44rem) {
  table { width: 100%; }
  td, td.path, td.short { max-width: none; min-width: 0; }
  thead { position: absolute; left: -100vw; }
  tr { display: block; padding: .6rem 0; border-bottom: 1px solid var(--line); }
  td, td.number { display: flex; justify-content: space-between; gap: 1rem; text-align: right; padding: .1rem 0; border: 0; }
  td::before { content: attr(data-label); color: var(--soft); font-size: .85rem; text-align: left; }
}
`;

const script = `
"use strict";
const byId = (id) => document.getElementById(id);
const key = location.hash.slice(1) || sessionStorage.getItem("key") || "";
if (location.hash !== "") { sessionStorage.setItem("key", key); history.replaceState(null, "", location.pathname); }
const count = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const dollars = ${String(formatDollars)};
const share = ${String(formatShare)};
const health = ${String(describeHealth)};
const time = (at) => at === undefined ? "" : new Date(at).toLocaleString();
const fill = (id, rows) => {
  const body = byId(id);
  const labels = [...body.parentElement.querySelectorAll("th")].map((cell) => cell.textContent);
  body.replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    for (const [at, cell] of cells.entries()) {
      const td = row.insertCell();
      td.dataset.label = labels[at];
      td.textContent = typeof cell === "object" ? cell.text : cell;
      if (typeof cell === "object") { td.className = cell.look; td.title = cell.title ?? ""; }
    }
    return row;
  }));
};
const number = (text) => ({ text, look: "number" });
const short = (text) => ({ text, look: "short", title: text });
const path = (text) => ({ text, look: "path" });
const show = (status) => {
  const { totals } = status;
  const removed = totals.inputTokensSent === 0 ? 0 : 1 - totals.inputTokensUsed / totals.inputTokensSent;
  const figures = { running: status.running, requests: count.format(status.requests), conversations: count.format(totals.conversations),
    saved: dollars(totals.savedUsd), removed: share(Math.max(0, removed)), edits: count.format(totals.edits),
    refused: count.format(status.refused), unanswered: count.format(status.unanswered),
    errors: count.format(status.gatewayErrors), open: count.format(status.failedOpen) };
  for (const [id, text] of Object.entries(figures)) byId(id).textContent = text;
  fill("upstream", status.upstream.map((one) => [one.api, path(one.address), { text: health(one), look: one.health }, time(one.lastAt)]));
  fill("spend", status.spendToday.map((one) => [one.user, number(dollars(one.usd)), number(count.format(one.unpriced))]));
  fill("conversations-list", status.conversations.map((one) => [{ text: one.id.slice(0, 8), look: "", title: one.id }, one.user, one.client ?? "", path(one.project ?? ""), short(one.model),
    number(count.format(one.requests)), number(count.format(one.inputTokensSent)), number(count.format(one.inputTokensUsed)),
    number(share(one.windowShareMax)), number(dollars(one.savedUsd)), number(count.format(one.edits)), short(time(one.lastAt))]));
  byId("summary").textContent = status.summary.charAt(0).toUpperCase() + status.summary.slice(1) + ".";
  byId("since").textContent = "Version " + status.version + ". Counts since the gateway started, " + time(status.startedAt) + "; spending since midnight UTC.";
};
const look = async () => {
  try {
    const reply = await fetch("status.json", { headers: key === "" ? {} : { authorization: "Bearer " + key }, cache: "no-store" });
    if (reply.status === 401) { byId("problem").textContent = "Open this page with the link that \\"palimpsest gateway status\\" prints: it contains the key."; return; }
    if (!reply.ok) throw new Error("status " + reply.status);
    show(await reply.json());
    byId("problem").textContent = "";
  } catch (error) {
    byId("problem").textContent = "The gateway is not responding (" + error.message + ").";
  }
  setTimeout(look, 3000);
};
look();
`;

const figures = [
  ["running", "Running requests"],
  ["requests", "Requests"],
  ["conversations", "Conversations"],
  ["saved", "Saved (estimated)"],
  ["removed", "Input tokens saved"],
  ["edits", "Edits"],
  ["refused", "Refused requests"],
  ["unanswered", "No reply of the upstream"],
  ["errors", "Gateway errors"],
  ["open", "Forwarded unchanged (gateway error)"],
] as const;

/** The names of columns with numbers begin with `#`. */
const table = (id: string, columns: readonly string[]): string =>
  `<table><thead><tr>${columns.map((name) => (name.startsWith("#") ? `<th scope="col" class="number">${name.slice(1)}</th>` : `<th scope="col">${name}</th>`)).join("")}</tr></thead><tbody id="${id}"></tbody></table>`;

/** Loads nothing from elsewhere. The data comes from `status.json` and is inserted as text only. */
export const statusPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Palimpsest gateway</title>
<style>${style}</style>
</head>
<body>
<h1>Palimpsest gateway</h1>
<p id="problem" role="status"></p>
<p id="summary"></p>
<dl>${figures.map(([id, label]) => `<div><dt>${label}</dt><dd id="${id}">–</dd></div>`).join("")}</dl>
<h2>Upstream</h2>
${table("upstream", ["API", "Address", "State", "Last reply"])}
<h2>Spent today (UTC)</h2>
${table("spend", ["User", "#Cost", "#Replies without a known price"])}
<h2>Conversations</h2>
${table("conversations-list", ["Session", "User", "Client", "Project", "Model", "#Requests", "#Client tokens", "#Upstream tokens", "#Largest request without edits (% of window)", "#Saved", "#Edits", "Last request"])}
<p class="soft" id="since"></p>
<script>${script}</script>
</body>
</html>
`;

const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export const statusPageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
} as const;
