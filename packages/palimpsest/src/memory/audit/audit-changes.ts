import type { MemoryChange, MemoryProvenance, MemorySource, MemoryText, MemoryTrust } from "../../ports/memories.ts";
import type { Millis } from "../../schema/brand.ts";
import { cutIndex, formatPointer, updateIndex } from "../directory/memory-index.ts";
import { indexPath, memoryRole } from "../directory/memory-path.ts";
import { parseMemory } from "../directory/memory-text.ts";
import type { DriftFinding } from "../directory/show-memory.ts";
import { contentWords } from "../content-words.ts";
import { findUnsourced, splitSentences, stripDates } from "../find-unsourced.ts";
import { judgeTrust } from "../judge-trust.ts";
import { findDeadLinks, stripLinks } from "./dead-links.ts";
import {
  findReason,
  type AcceptedRemoval,
  type ReasonSources,
  type RemovalReason,
  type SeenPassage,
} from "./removal-reasons.ts";
import { findingCharsMax, lostShareMax } from "./limits.ts";
import { findNewDates, findRelativeDate, hasRelativeSource } from "./relative-dates.ts";
import { isNarrowed, isNegated } from "./sentence-words.ts";
import { type Fact, readFact, readFacts, StandingFacts } from "./standing-facts.ts";

export interface AuditInput {
  /** The directory that the changes were made on, or as it is by now. */
  readonly base: readonly MemoryText[];
  readonly changes: readonly MemoryChange[];
  /** Why sentences are gone, as the consolidator says. */
  readonly reasons: readonly RemovalReason[];
  /** What the consolidator found in transcripts. */
  readonly passages: readonly SeenPassage[];
  readonly driftByPath: ReadonlyMap<string, readonly DriftFinding[]>;
  readonly evidenceNeeds?: ReasonSources["evidenceNeeds"];
  readonly now: Millis;
}

export type AuditRule = "fact-lost" | "dead-link" | "index-limit" | "relative-date" | "no-source" | "untrusted";

export interface AuditFinding {
  /** The file whose change is not made. */
  readonly path: string;
  readonly rule: AuditRule;
  /** The sentence, link or line in question. */
  readonly quote: string;
}

export interface ChangeAudit {
  /** `repaired`: some of the changes are not made. `refused`: none is. */
  readonly verdict: "passed" | "repaired" | "refused";
  /** What may be committed, with where it comes from and how far it is to be trusted. */
  readonly kept: readonly MemoryChange[];
  readonly findings: readonly AuditFinding[];
  /** Sentences that are gone, each with a reason that holds. */
  readonly removals: readonly AcceptedRemoval[];
}

/**
 * Checks what a consolidation wants to do to a memory directory. Pure and the same each time: no model is asked. A change
 * that breaks a rule is left out; since that can make another one break a rule (the file that a deleted memory was merged
 * into is not written), the rest is checked again until nothing is found.
 */
export function auditChanges(input: AuditInput): ChangeAudit {
  const state = createState(input);
  const findings: AuditFinding[] = [];
  let kept = input.changes.map((change) => judgeChange(change, state));
  findings.push(...kept.flatMap((change) => findTextProblems(change, state)));
  kept = withoutFound(kept, findings);
  for (;;) {
    const found = findDirectoryProblems(kept, state);
    if (found.length === 0) break;
    findings.push(...found);
    kept = withoutFound(kept, found);
  }
  const isRefused = losesTooMuch(findings, state) || kept.length === 0;
  const verdict = input.changes.length === 0 || findings.length === 0 ? "passed" : isRefused ? "refused" : "repaired";
  if (verdict === "refused") return { verdict, kept: [], findings, removals: [] };
  return { verdict, kept: kept.map(({ change }) => change), findings, removals: listRemovals(kept, state) };
}

interface AuditState extends AuditInput {
  readonly baseByPath: ReadonlyMap<string, MemoryText>;
  /** The texts of trusted memories and the user's words. */
  readonly own: readonly string[];
  readonly outside: readonly string[];
  /** Both. */
  readonly sources: readonly string[];
  /** The content words of all sources. */
  readonly sourceWords: ReadonlySet<string>;
  readonly sourceFacts: StandingFacts;
  /** What `own` states, for facts that an untrusted memory repeats. */
  readonly ownFacts: StandingFacts;
  /** What each memory says; read once. */
  readonly factsByPath: ReadonlyMap<string, readonly Fact[]>;
}

function createState(input: AuditInput): AuditState {
  const { base, passages } = input;
  const texts = (trust: MemoryTrust): readonly string[] =>
    base.filter((memory) => memory.role !== "index" && memory.trust === trust).map(({ text }) => text);
  const said = (by: SeenPassage["by"]): readonly string[] =>
    passages.filter((passage) => passage.by === by).map(({ text }) => text);
  const own = [...texts("trusted"), ...said("user")];
  const outside = [...texts("untrusted"), ...said("outside")];
  return {
    ...input,
    baseByPath: new Map(base.map((memory) => [memory.path, memory])),
    own,
    outside,
    sources: [...own, ...outside],
    sourceWords: new Set([...own, ...outside].flatMap(contentWords)),
    sourceFacts: new StandingFacts([...own, ...outside]),
    ownFacts: new StandingFacts(own),
    factsByPath: new Map(
      base.filter(({ role }) => role === "memory").map(({ path, text }) => [path, readFacts(text, path)]),
    ),
  };
}

interface JudgedChange {
  readonly change: MemoryChange;
  readonly before: MemoryText | undefined;
  /** The sentences that were not in this file before: of the text, and of name and description. */
  readonly added: { readonly body: readonly string[]; readonly head: readonly string[] };
  readonly trust: MemoryTrust;
}

function judgeChange(change: MemoryChange, state: AuditState): JudgedChange {
  const before = state.baseByPath.get(change.path);
  const added = findAdded(change, before);
  const texts = [...added.head, ...added.body];
  const sources = texts.length === 0 ? [] : findSources(change.path, texts, state);
  const { own, outside } = state;
  const arrived = outside.length === 0 ? "never" : "since-user";
  const isForeign =
    sources.some(({ trust }) => trust === "untrusted") ||
    (texts.length > 0 &&
      judgeTrust(stripDates(stripLinks(texts.join("\n"))), { own, outside, arrived }) === "untrusted");
  const trust = isForeign ? "untrusted" : "trusted";
  const known = change.provenance?.derivedFrom ?? [];
  const derivedFrom = [...sources.map(({ path, revision }) => ({ path, revision })), ...known].filter(
    ({ path }, at, all) => state.baseByPath.has(path) && all.findIndex((one) => one.path === path) === at,
  );
  const provenance: MemoryProvenance = { at: state.now, trust, ...(derivedFrom.length === 0 ? {} : { derivedFrom }) };
  return { change: { ...change, provenance }, before, added, trust };
}

function findAdded({ path, text = "" }: MemoryChange, before: MemoryText | undefined): JudgedChange["added"] {
  const known = new Set(before === undefined ? [] : listSentences(before.text, path).flat());
  const [head, body] = text === "" ? [[], []] : listSentences(text, path);
  return {
    head: head.filter((sentence) => !known.has(sentence)),
    body: body.filter((sentence) => !known.has(sentence)),
  };
}

/** Of name, description and other lines of the front matter, and of the text. */
function listSentences(text: string, path: string): readonly [readonly string[], readonly string[]] {
  const { name, description, otherLines, body } = parseMemory(text, path);
  return [[name, ...splitSentences(description), ...otherLines], splitSentences(body)];
}

/** The other memories whose sentences these texts took over; untrusted ones only if nobody trusted says the same. */
function findSources(
  path: string,
  texts: readonly string[],
  { base, ownFacts, factsByPath }: AuditState,
): readonly (MemorySource & { readonly trust: MemoryTrust })[] {
  const written = new StandingFacts([texts.join("\n")]);
  return base
    .filter((memory) => memory.role === "memory" && memory.path !== path)
    .filter(({ path: from, trust }) =>
      (factsByPath.get(from) ?? []).some(
        (fact) => written.resembles(fact) && (trust === "trusted" || !ownFacts.resembles(fact)),
      ),
    )
    .map(({ path: from, revision, trust }) => ({ path: from, revision, trust }));
}

/** What can be said about a change whatever happens to the others. */
function findTextProblems({ change, before, added, trust }: JudgedChange, state: AuditState): readonly AuditFinding[] {
  const { path } = change;
  const texts = [...new Set([...added.head, ...added.body])];
  if (texts.length === 0) return [];
  const dated = texts.flatMap((sentence) => {
    const date = findRelativeDate(sentence);
    return date === undefined ? [] : [finding(path, "relative-date", `${date}: ${sentence}`)];
  });
  const invented = new Set([
    ...findInvented(added.body, state.sources),
    // A title or a description may be made of the text that it stands over.
    ...findInvented(added.head, [...state.sources, added.body.join("\n")]),
    ...added.body.filter((sentence) => hasNewWord(sentence, state) || isNewRemark(sentence, state)),
  ]);
  const isPoisoned = trust === "untrusted" && before?.trust === "trusted";
  return [
    ...dated,
    ...[...invented].map((sentence) => finding(path, "no-source", sentence)),
    ...(isPoisoned ? [finding(path, "untrusted", texts.join(" "))] : []),
  ];
}

/** One word is enough to make another fact of a sentence. */
const hasNewWord = (sentence: string, { sourceWords }: AuditState): boolean =>
  contentWords(stripDates(stripLinks(sentence))).some((word) => !sourceWords.has(word));

/** "This is not so", "Never": a few words without a topic can turn round what stands before them. */
function isNewRemark(sentence: string, { sourceFacts }: AuditState): boolean {
  const fact = readFact(stripLinks(sentence));
  const isShort = fact.words.size === 0 || (fact.words.size === 1 && (isNegated(sentence) || isNarrowed(sentence)));
  return isShort && !sourceFacts.states(fact);
}

/** Sentences without a source. A date of its own may stand for a relative one of a source; a link to a memory is no word. */
function findInvented(sentences: readonly string[], sources: readonly string[]): readonly string[] {
  const checked = sentences.map((sentence) => {
    const plain = stripLinks(sentence);
    const isDated = findNewDates(plain, sources).length > 0;
    const text = isDated ? stripDates(plain) : plain;
    return { sentence, parts: splitSentences(text), isInvented: isDated && !hasRelativeSource(text, sources) };
  });
  // All at once: the sources are long.
  const unsourced = new Set(findUnsourced(checked.flatMap(({ parts }) => parts).join("\n"), sources));
  return checked
    .filter(({ parts, isInvented }) => isInvented || parts.some((part) => unsourced.has(part)))
    .map(({ sentence }) => sentence);
}

/** What the changes do together. */
function findDirectoryProblems(kept: readonly JudgedChange[], state: AuditState): readonly AuditFinding[] {
  const after = applyChanges(kept, state);
  const sources = createReasonSources(after, state);
  const lost = kept.flatMap(({ before, change }) =>
    before === undefined
      ? []
      : listGone(before, sources)
          .filter((fact) => findReason({ memory: before, fact }, sources) === undefined)
          .map((fact) => finding(change.path, "fact-lost", fact.sentence)),
  );
  const dead = findDeadLinks(after, state.baseByPath)
    .filter(({ path }) => kept.some(({ change }) => change.path === path))
    .map(({ path, link }) => finding(path, "dead-link", link));
  return lost.length + dead.length > 0 ? [...lost, ...dead] : findIndexProblem(kept, { after, state });
}

function applyChanges(kept: readonly JudgedChange[], { baseByPath }: AuditState): ReadonlyMap<string, string> {
  const after = new Map(
    [...baseByPath].filter(([path]) => memoryRole(path) === "memory").map(([path, { text }]) => [path, text]),
  );
  for (const { change } of kept) {
    if (change.text === undefined) after.delete(change.path);
    else after.set(change.path, change.text);
  }
  return after;
}

/** Facts of a memory that stand nowhere any more. */
const listGone = (memory: MemoryText, { standing }: ReasonSources) =>
  readFacts(memory.text, memory.path).filter((fact) => !standing.states(fact));

const createReasonSources = (
  after: ReadonlyMap<string, string>,
  { base, reasons, passages, driftByPath, evidenceNeeds }: AuditState,
): ReasonSources => ({
  standing: new StandingFacts([...after].map(([path, text]) => parseMemory(text, path).body || text)),
  after,
  base,
  reasons,
  passages,
  driftByPath,
  evidenceNeeds,
});

/** The index is written at the commit. If more of it would be cut than before, the last change that lengthens it is left out. */
function findIndexProblem(
  kept: readonly JudgedChange[],
  { after, state }: { readonly after: ReadonlyMap<string, string>; readonly state: AuditState },
): readonly AuditFinding[] {
  const index = state.baseByPath.get(indexPath)?.text ?? "";
  const before = state.base.filter(({ role }) => role === "memory").map(({ path, text }) => indexMemory([path, text]));
  const [old, next] = [before, [...after].map(indexMemory)].map((memories) => {
    const whole = updateIndex({ index, before, after: memories });
    const { lines, warnings } = cutIndex(whole);
    return { cut: whole.trimEnd().split("\n").length - lines.length, warning: warnings[0] };
  });
  if (old === undefined || next?.warning === undefined || next.cut <= old.cut) return [];
  const longest = kept.findLast(({ before: was }) => was === undefined) ?? kept.findLast(lengthensIndex);
  return longest === undefined ? [] : [finding(longest.change.path, "index-limit", next.warning)];
}

const lengthensIndex = ({ before, change: { path, text } }: JudgedChange): boolean =>
  text !== undefined && pointerBytes(path, text) > (before === undefined ? 0 : pointerBytes(path, before.text));

const pointerBytes = (path: string, text: string): number =>
  Buffer.byteLength(formatPointer(indexMemory([path, text])));

const indexMemory = ([path, text]: readonly [string, string]) => ({ ...parseMemory(text, path), path });

/** Whether most of the directory would be gone, had nobody looked. */
function losesTooMuch(findings: readonly AuditFinding[], { base, baseByPath }: AuditState): boolean {
  const lostByPath = Map.groupBy(
    findings.filter(({ rule }) => rule === "fact-lost"),
    ({ path }) => path,
  );
  const losses = [...lostByPath].filter(([path, lost]) => {
    const facts = readFacts(baseByPath.get(path)?.text ?? "", path).length;
    return lost.length > lostShareMax * facts;
  });
  return losses.length > lostShareMax * base.filter(({ role }) => role === "memory").length;
}

function listRemovals(kept: readonly JudgedChange[], state: AuditState): readonly AcceptedRemoval[] {
  const sources = createReasonSources(applyChanges(kept, state), state);
  return kept.flatMap(({ before }) =>
    before === undefined
      ? []
      : listGone(before, sources).flatMap((fact) => findReason({ memory: before, fact }, sources) ?? []),
  );
}

function withoutFound(kept: readonly JudgedChange[], findings: readonly AuditFinding[]): JudgedChange[] {
  const paths = new Set(findings.map(({ path }) => path));
  return kept.filter(({ change }) => !paths.has(change.path));
}

const finding = (path: string, rule: AuditRule, quote: string): AuditFinding => ({
  path,
  rule,
  quote: quote.length <= findingCharsMax ? quote : `${quote.slice(0, findingCharsMax - 1)}…`,
});
