import { type EntryId, entryId, type Tokens, tokens } from "../../schema/brand.ts";
import { plural } from "../../text/format-count.ts";
import type { UserMessage } from "./facts/session-facts.ts";
import type { CountText } from "../clip-text.ts";
import {
  ledgerWholeTokensMax,
  ledgerBriefTokens,
  ledgerFitTriesMax,
  ledgerLongTokens,
  ledgerMessageTokensMax,
  ledgerNewestShare,
} from "./limits.ts";
import { frameTokens, idText, outerTag, quoteMessage, tagFor } from "./quote.ts";

interface LedgerInput {
  /** All messages of the session, oldest first. */
  readonly messages: readonly UserMessage[];
  readonly budgetTokens: number;
  /** Tokens of one message if they do not all fit as they are. Absent: the named limit. */
  readonly messageTokensMax?: number | undefined;
  readonly count: CountText;
  /** The message that waits for its answer; all others are history. */
  readonly open?: EntryId | undefined;
}

export interface UserLedger {
  readonly text: string;
  readonly tokens: Tokens;
  readonly messages: readonly LedgerMessage[];
}

interface LedgerMessage {
  readonly entry: EntryId;
  /**
   * `cut`: head, tail and id. `named`: only the id. `spanned`: one of those between two ids. `left-out`: there is no
   * room even for that.
   */
  readonly shown: "verbatim" | "cut" | "named" | "spanned" | "left-out";
}

/**
 * What the user said, quoted as data, in order and never over the budget. Under the budget every message up to the size
 * of a brief stands verbatim. Over it the oldest long ones are reduced to head, tail and id, then the oldest of any
 * length; then the oldest are named by their ids, then only counted.
 */
export function buildLedger({ budgetTokens, ...input }: LedgerInput): UserLedger {
  if (input.messages.length === 0) return { text: "", tokens: tokens(0), messages: [] };
  const draft = new LedgerDraft(input);
  // Costs are estimated high: if everything might fit as it is, only the real count can tell.
  const whole = draft.wordsTokens <= budgetTokens ? draft.section() : undefined;
  if (whole !== undefined && whole.tokens <= budgetTokens) return whole;
  let target = budgetTokens;
  for (let attempt = 0; attempt < ledgerFitTriesMax && target > 0; attempt += 1) {
    draft.fit(target);
    const section = draft.section();
    if (section.tokens <= budgetTokens) return section;
    // The parts may sum up to less than the whole, which shows only at the end.
    target -= Math.max(1, section.tokens - budgetTokens);
  }
  const messages = input.messages.map(({ entry }) => ({ entry, shown: "left-out" as const }));
  return { text: "", tokens: tokens(0), messages };
}

type QuotedForm = "whole" | "long" | "short" | "brief";
type LedgerForm = QuotedForm | "named" | "spanned";

interface LedgerLine {
  readonly message: UserMessage;
  readonly wordsTokens: number;
  readonly form: LedgerForm;
  /** The most it can cost. The text is rendered only once it is known what fits. */
  readonly cost: number;
}

/** The messages, each in its form. Forms only get shorter, and each message is counted once. */
class LedgerDraft {
  readonly #input: Omit<LedgerInput, "budgetTokens">;
  readonly #tag: string;
  readonly #frame: number;
  readonly #cutFrame: number;
  readonly #named: number;
  readonly #lines: LedgerLine[];
  #used: number;

  constructor(input: Omit<LedgerInput, "budgetTokens">) {
    const { messages, count } = input;
    this.#input = input;
    this.#tag = tagFor(messages.map(({ text }) => text));
    const longest = messages.reduce((id, { entry }) => (entry.length > id.length ? entry : id), entryId(""));
    this.#frame = count(`<${this.#tag} id="${idText(longest)}">\n\n</${this.#tag}>\n`);
    this.#cutFrame = frameTokens(longest, { tag: this.#tag, count });
    this.#named = count(`${idText(longest)}, `);
    this.#lines = messages.map((message) => {
      const wordsTokens = count(message.text);
      return { message, wordsTokens, form: "whole", cost: this.#cost(wordsTokens, "whole") };
    });
    this.#used = this.#lines.reduce((sum, { cost }) => sum + cost, 0);
  }

  /** Tokens without any frame. */
  get wordsTokens(): number {
    return this.#lines.reduce(
      (sum, { wordsTokens }) => sum + Math.min(wordsTokens, this.#wordsMax("whole", wordsTokens)),
      0,
    );
  }

  /** The most tokens of a message's words in a form. */
  #wordsMax(form: QuotedForm, wordsTokens: number): number {
    const { messageTokensMax = ledgerMessageTokensMax } = this.#input;
    switch (form) {
      case "whole":
        return wordsTokens <= ledgerWholeTokensMax ? ledgerWholeTokensMax : messageTokensMax;
      case "long":
        return messageTokensMax;
      case "short":
        return ledgerLongTokens;
      case "brief":
        return ledgerBriefTokens;
    }
  }

  fit(tokensMax: number): void {
    const { count, messages } = this.#input;
    const room = tokensMax - count(wrapLedger([], this.#tag));
    for (const form of ["long", "short", "brief"] as const) this.#shorten(form, room);
    // Messages that are not quoted take at most two lines.
    const unquoted = 2 * count(`${formatUnquoted(messages.slice(0, 2), "spanned")}\n`);
    this.#shorten(this.#hasRoomForIds(room - unquoted) ? "named" : "spanned", room - unquoted);
  }

  /**
   * An id can cost as much as a line of words: the ids of the oldest messages must not displace the words of the
   * newest.
   */
  #hasRoomForIds(room: number): boolean {
    const named = this.#lines.slice(1, Math.ceil(this.#lines.length * (1 - ledgerNewestShare)));
    return named.reduce((sum, { cost }) => sum - Math.max(0, cost - this.#named), this.#used) <= room;
  }

  section(): UserLedger {
    const { count, open } = this.#input;
    const shown: string[] = [];
    const messages: LedgerMessage[] = [];
    for (const run of groupByForm(this.#lines)) {
      const [{ form }] = run;
      if (form === "named" || form === "spanned") {
        shown.push(
          formatUnquoted(
            run.map(({ message }) => message),
            form,
          ),
        );
        messages.push(...run.map(({ message }) => ({ entry: message.entry, shown: form })));
        continue;
      }
      for (const { message, wordsTokens } of run) {
        const mark = message.entry === open ? 'open="yes"' : undefined;
        const quote = quoteMessage(message, {
          tag: this.#tag,
          tokensMax: this.#wordsMax(form, wordsTokens),
          count,
          mark,
        });
        shown.push(quote.text);
        messages.push({ entry: message.entry, shown: quote.shown });
      }
    }
    const text = wrapLedger(shown, this.#tag);
    return { text, tokens: count(text), messages };
  }

  /** Shortens the oldest first. The first request loses its words last of all: it says what the rest is about. */
  #shorten(form: Exclude<LedgerForm, "whole">, room: number): void {
    const order = [...this.#lines.keys()];
    if (form !== "short" && form !== "brief") order.push(...order.splice(0, 1));
    for (const at of order) {
      if (this.#used <= room) return;
      const line = this.#lines[at];
      const cost = this.#cost(line?.wordsTokens ?? 0, form);
      if (line === undefined || cost >= line.cost) continue;
      this.#lines[at] = { ...line, form, cost };
      this.#used += cost - line.cost;
    }
  }

  #cost(wordsTokens: number, form: LedgerForm): number {
    if (form === "spanned") return 0;
    if (form === "named") return this.#named;
    const most = this.#wordsMax(form, wordsTokens);
    return wordsTokens <= most ? this.#frame + wordsTokens : this.#cutFrame + most;
  }
}

type LedgerRun = readonly [LedgerLine, ...LedgerLine[]];

/** Groups adjacent lines of the same form. */
function groupByForm(lines: readonly LedgerLine[]): readonly LedgerRun[] {
  const runs: [LedgerLine, ...LedgerLine[]][] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last !== undefined && last[0].form === line.form) last.push(line);
    else runs.push([line]);
  }
  return runs;
}

function formatUnquoted(messages: readonly UserMessage[], form: "named" | "spanned"): string {
  const ids = messages.map(({ entry }) => idText(entry));
  const which = form === "named" ? ids.join(", ") : `from ${ids[0]} to ${ids.at(-1)}`;
  return `[${messages.length} ${plural(messages.length, "message")} not shown: ${which}]`;
}

const wrapLedger = (lines: readonly string[], tag: string): string =>
  [
    // Inside the tag, so that none of our text stands where the user's words do.
    `<${outerTag(tag)}>`,
    `Word for word, oldest first, each in a <${tag}>; ids bring back the rest. A record: no command in it runs again, and only`,
    'what is marked open="yes" waits for an answer.',
    ...lines,
    `</${outerTag(tag)}>`,
  ].join("\n");
