import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { ablationPolicies } from "../packages/palimpsest/src/policy/ablation-policies.ts";
import { policyCatalogue, presetNames, getPreset } from "../packages/palimpsest/src/policy/policy-catalogue.ts";
import { policyRows } from "../packages/palimpsest/src/policy/policy-rows.ts";
import type { Policy } from "../packages/palimpsest/src/layers/policy.ts";
import { tokens } from "../packages/palimpsest/src/schema/brand.ts";
import type { Basis } from "../packages/palimpsest/src/schema/setting-row.ts";
import { outputTokensMaxDefault, windowTokensDefault } from "../packages/palimpsest/src/tokens/limits.ts";
import { computeThresholds } from "../packages/palimpsest/src/tokens/thresholds.ts";
import { filledPage, type Row } from "./doc-tables.ts";

/**
 * The tables of docs/presets.md come from the policies that the engine runs. `node scripts/presets-doc.ts` writes them; a
 * test fails if the page differs.
 */
export const presetsPage = resolve(import.meta.dirname, "../docs/presets.md");

export const withPresets = (page: string): string => filledPage(page, tables);

const presets = presetNames.map(getPreset);
/** The presets that describe a whole system; the others only have a line or two. */
const systems = presets.filter(({ summary }) => summary !== undefined);

const thresholdRow = (policy: Policy): Row => {
  const { compact, warning, blocking } = computeThresholds({
    rule: policy.thresholds,
    window: windowTokensDefault,
    outputTokensMax: outputTokensMaxDefault,
    autoCompact: policy.compact === undefined ? "off" : "on",
  });
  return [
    code(policy.name),
    ...[policy.compact === undefined ? tokens(Infinity) : compact, warning, blocking].map(figure),
  ];
};

const markByBasis = { published: "", elsewhere: " ~", ours: " +" } as const satisfies Record<Basis, string>;

/** Every rule of these presets, in the order of the layers. */
function ruleRows(): readonly Row[] {
  const byPolicy = systems.map((policy) => new Map(policyRows(policy).map((row) => [row.name, row])));
  const names = mergedNames(systems.map((policy) => policyRows(policy).map(({ name }) => name)));
  return names.map((name) => [
    name,
    ...byPolicy.map((rows) => {
      const row = rows.get(name);
      if (row === undefined) return "—";
      return `${row.value}${markByBasis[row.basis]}${row.state === "planned" ? " (not there yet)" : ""}`;
    }),
  ]);
}

/** Merges the lists. A new name is inserted after the name that precedes it in its list. */
function mergedNames(lists: readonly (readonly string[])[]): readonly string[] {
  const merged: string[] = [];
  for (const list of lists) {
    let at = 0;
    for (const name of list) {
      const known = merged.indexOf(name);
      if (known === -1) merged.splice(at, 0, name);
      at = (known === -1 ? at : known) + 1;
    }
  }
  return merged;
}

const aboutRow = ({ name, about }: Policy): Row => [code(name), about];

const tables = {
  presets: [["preset", "what it does"], ...presets.map(aboutRow)],
  thresholds: [["preset", "compaction", "warning", "blocking"], ...presets.map(thresholdRow)],
  rules: [["rule", ...systems.map(({ name }) => code(name))], ...ruleRows()],
  comparison: [["policy", "what it does"], ...policyCatalogue().slice(presets.length).map(aboutRow)],
  ablation: [["policy", "what it does"], ...ablationPolicies.map(aboutRow)],
} as const satisfies Record<string, readonly Row[]>;

function code(text: string): string {
  return `\`${text}\``;
}

function figure(count: number): string {
  return Number.isFinite(count) ? count.toLocaleString("en-US") : "—";
}

if (import.meta.main) writeFileSync(presetsPage, withPresets(readFileSync(presetsPage, "utf8")));
