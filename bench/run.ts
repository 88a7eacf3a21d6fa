import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentsCase } from "./case/agents.ts";
import { appendCase } from "./case/append.ts";
import { bodyCase } from "./case/body.ts";
import { browserCase } from "./case/browser.ts";
import { chatMemoryCase } from "./case/chat-memory.ts";
import { compactCase } from "./case/compact.ts";
import { headerCase } from "./case/header.ts";
import { mailboxCase } from "./case/mailbox.ts";
import { openCase } from "./case/open.ts";
import { planCase } from "./case/plan.ts";
import { recallCase } from "./case/recall.ts";
import { recallIndexCase } from "./case/recall-index.ts";
import { relayCase } from "./case/relay.ts";
import { replayCase } from "./case/replay.ts";
import { requestCase } from "./case/request.ts";
import { sandboxCase } from "./case/sandbox.ts";
import { simulatorCase } from "./case/simulator.ts";
import { startCase } from "./case/start.ts";
import { syncCase } from "./case/sync.ts";
import { tokensCase } from "./case/tokens.ts";
import { typingCase } from "./case/typing.ts";
import { viewCase } from "./case/view.ts";
import { conditions, type Figure } from "./measure.ts";
import { type StoredCase, withCases } from "./stored.ts";

/** `npm run bench [-- <case>…]`: prints each figure with its limit, stores them with their conditions, and exits with 1 if a limit is missed. */
const cases = [
  appendCase,
  viewCase,
  openCase,
  tokensCase,
  headerCase,
  requestCase,
  syncCase,
  planCase,
  compactCase,
  recallCase,
  recallIndexCase,
  relayCase,
  replayCase,
  sandboxCase,
  mailboxCase,
  agentsCase,
  simulatorCase,
  startCase,
  typingCase,
  chatMemoryCase,
  bodyCase,
  browserCase,
];
const args = process.argv.slice(2);
/** `--mb 1000` belongs to the case `recall-index`. */
const names = args.filter((arg, at) => arg !== "--mb" && args[at - 1] !== "--mb");
const conditionsNow: StoredCase["conditions"] = { ...conditions(), measured: new Date().toISOString() };
for (const [name, value] of Object.entries(conditionsNow)) console.log(`${name.padEnd(8)} ${value}`);

const results: Record<string, StoredCase> = {};
for (const benchCase of cases) {
  const { name } = benchCase;
  if (names.length > 0 && !names.includes(name)) continue;
  const figures = await benchCase.run();
  if (figures.length === 0) {
    console.log(`\n${name}: left out, what it needs is not here (PALIMPSEST_CORPUS, bubblewrap)`);
    continue;
  }
  for (const figure of figures)
    console.log(
      `\n${mark(figure)} ${figure.name}: ${figure.value.toFixed(2)} ${figure.unit}${figure.limit === undefined ? "" : ` (limit ${figure.limit})`}\n  ${figure.detail}`,
    );
  results[name] = { conditions: conditionsNow, figures };
}

const folder = join(import.meta.dirname, "../.bench");
const path = join(folder, `${conditionsNow["commit"]?.split(" ")[0] ?? "unknown"}.json`);
mkdirSync(folder, { recursive: true });
writeFileSync(path, withCases(existsSync(path) ? readFileSync(path, "utf8") : undefined, results));
process.exitCode = Object.values(results).some(({ figures }) => figures.some(missed)) ? 1 : 0;

function missed({ value, limit }: Figure): boolean {
  return limit !== undefined && !(value <= limit);
}

function mark(figure: Figure): string {
  return missed(figure) ? "✗" : "✓";
}
