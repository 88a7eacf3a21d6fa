import type { lintSource } from "@secretlint/core";
import type { SecretScanner } from "palimpsest/internal/ports/secret-scanner";
import {
  findSecrets,
  joinFindings,
  type SecretFinding,
  type SecretSpan,
  withoutOverlaps,
} from "palimpsest/internal/text/find-secrets";

/** Longer texts are read in windows of this size, so that the time limit is looked at between them. */
const windowCharsMax = 256 * 1_024;
/** More than the longest secret that a rule knows, so that none is cut by a window's edge. */
const overlapChars = 16 * 1_024;
/** A megabyte takes about 15 ms. A text that takes longer than this is left to our own rules, which have read all of it. */
const scanMillisMax = 1_000;

/**
 * Our own rules and, in addition, those that secretlint recommends. secretlint is loaded with the first text. If it
 * can't be loaded, fails or takes too long, our rules count.
 */
export function createSecretScanner({ now = () => performance.now() } = {}): SecretScanner {
  let linter: Promise<Lint | undefined> | undefined;
  return {
    scan: async (text) => {
      const own = findSecrets(text);
      if (text.length < secretCharsMin || !mayConcernLinter(text)) return own;
      linter ??= loadLinter().catch(() => undefined);
      const lint = await linter;
      return lint === undefined ? own : addFindings(text, own, await lintWindows(text, { lint, now }));
    },
  };
}

/** No rule of secretlint's knows a shorter secret. */
const secretCharsMin = 12;

/**
 * What a text must hold for any of secretlint's rules to report something: the beginnings of the tokens that it knows, an
 * address with an `@`, a key's frame, the names of its settings. Most texts hold none.
 */
const tokenStarts =
  /(?:A3T|AKIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ASIA)[A-Z0-9]|PRIVATE KEY|_authToken=|npm_|xox[bpaor]-|xapp-|SG\.|shp(?:pa|ca|at|ss)_|[sr]k_(?:live|test)_|gh[pours]_|github_pat_|glpat-|gl(?:c|sa)_|(?<!\p{L})sk-|gsk_|hf_|lin_api_|ntn_|ops_ey|hv[sbr]\.|vc[piark]_|dapi[A-Fa-f0-9]|dckr_pat_|figd_|cf(?:k|ut|at)_|tskey-/u;
const addressOrSetting = /:\/\/.{1,300}@|hooks\.slack\.com|secret_?access_?key|aws_?account(?:_?id)?["']?\s{0,9}[:=]/i;
export const mayConcernLinter = (text: string): boolean => tokenStarts.test(text) || addressOrSetting.test(text);

type LintMessage = Awaited<ReturnType<typeof lintSource>>["messages"][number];
type Lint = (content: string) => Promise<readonly LintMessage[]>;

async function loadLinter(): Promise<Lint> {
  const [core, preset, { secretLintProfiler }] = await Promise.all([
    import("@secretlint/core"),
    import("@secretlint/secretlint-rule-preset-recommend"),
    import("@secretlint/profiler"),
  ]);
  // It would keep an entry for every rule of every text.
  secretLintProfiler.setEnabled(false);
  // A comment in the text must not switch rules off: whoever writes it may not be the user.
  const rules = preset.rules
    .filter(({ meta }) => !meta.id.endsWith("-filter-comments"))
    .map((rule) => ({ id: rule.meta.id, rule, options: {} }));
  return async (content) => {
    const source = { filePath: "text.txt", content, ext: ".txt", contentType: "text" as const };
    const { messages } = await core.lintSource({ source, options: { noPhysicFilePath: true, config: { rules } } });
    return messages;
  };
}

interface LintOptions {
  readonly lint: Lint;
  readonly now: () => number;
}

interface LintedSpan extends SecretSpan {
  readonly isAddress: boolean;
}

async function lintWindows(text: string, { lint, now }: LintOptions): Promise<readonly LintedSpan[]> {
  const spans: LintedSpan[] = [];
  const deadline = now() + scanMillisMax;
  for (let from = 0; from < text.length && now() < deadline; from += windowCharsMax - overlapChars) {
    const content = text.slice(from, from + windowCharsMax);
    const messages = await lint(content).catch(() => []);
    spans.push(...messages.map((message) => locateMessage(message, { content, from })));
    if (from + windowCharsMax >= text.length) break;
  }
  return spans;
}

/** Ranges of some rules are off by the text before the secret; the secret itself is in the message's data. */
function locateMessage(
  { ruleId, range, data }: LintMessage,
  { content, from }: { readonly content: string; readonly from: number },
): LintedSpan {
  const [first, last] = range;
  const kind = ruleId.replace(/^.*secretlint-rule-/, "");
  const secret = Object.values(data ?? {})
    .filter((value) => typeof value === "string")
    .filter((value) => value.length >= secretCharsMin && content.includes(value, first))
    .toSorted((a, b) => b.length - a.length)[0];
  const start = secret === undefined ? first : content.indexOf(secret, first);
  const end = secret === undefined ? last : start + secret.length;
  const isAddress = kind === "basicauth" || kind === "database-connection-string";
  return { kind, start: from + start, end: from + end, isAddress };
}

/** Of an address, our rules mask only the password. */
function addFindings(
  text: string,
  own: readonly SecretFinding[],
  linted: readonly LintedSpan[],
): readonly SecretFinding[] {
  if (linted.length === 0) return own;
  const addresses = withoutOverlaps(
    linted.filter(({ isAddress }) => isAddress),
    own,
  );
  return joinFindings(text, [...own, ...linted.filter(({ isAddress }) => !isAddress), ...addresses]);
}
