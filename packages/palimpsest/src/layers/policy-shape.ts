import { z } from "zod";
import type { Policy } from "./policy.ts";

/**
 * The schema of a policy that comes from outside. An unknown name is an error: a misspelt rule would otherwise have no
 * effect.
 */
const amount = z.number().nonnegative();
const share = amount.max(1);
/** The log is searched this many rounds back for paid calls. A rule about more rounds would count too few. */
const callRoundsMax = 30;
const onOff = z.enum(["on", "off"]);

const thresholds = z.strictObject({
  outputReserveTokensMax: amount,
  compactBufferTokens: amount,
  warningBufferTokens: amount.exactOptional(),
  blockingBufferTokens: amount.exactOptional(),
  inputLimit: z.enum(["bounds", "compacts", "ignored"]),
});

const offload = z.strictObject({
  resultCharsMax: amount,
  hardCharsMax: amount,
  toolsOwn: z.enum(["counts", "ignored"]),
  roundCharsMax: amount.exactOptional(),
  preview: z.strictObject({
    of: z.enum(["characters", "bytes"]),
    length: amount,
    shows: z.enum(["head", "structure"]),
  }),
});

const clearable = z.strictObject({ tools: z.enum(["rerunnable", "all-but-skills"]), tokensMin: amount });
const marker = z.enum(["plain", "named"]);

const bySize = z.strictObject({
  when: z.enum(["request", "turn"]),
  above: z
    .strictObject({ tokens: z.union([amount, z.literal("warning")]), of: z.enum(["shown", "sent"]) })
    .exactOptional(),
  keepResults: amount,
  keepTurns: amount,
  downToTokens: amount,
  savesTokensMin: amount,
  everyRounds: amount.exactOptional(),
  marker,
});

const clear = z.strictObject({
  bySize: bySize.exactOptional(),
  byIdleness: z
    .strictObject({
      after: z.union([z.literal("cache"), z.strictObject({ minutes: amount })]),
      keepResults: amount,
      marker,
    })
    .exactOptional(),
  inCache: z.strictObject({ fromResults: amount, keepResults: amount }).exactOptional(),
  byServer: z
    .strictObject({
      triggerTokens: amount,
      clearTokensMin: amount.exactOptional(),
      keepResults: amount.exactOptional(),
      thinking: z.enum(["asked", "left"]),
      modelledBy: bySize,
    })
    .exactOptional(),
  byPrice: z
    .strictObject({
      staleRounds: amount,
      agesFrom: z.enum(["last-use", "birth"]),
      patience: z.union([amount, z.literal("never")]),
      horizonRounds: amount,
      riskWeight: amount,
      worth: z
        .strictObject({ windowShareMin: z.strictObject({ warm: share, cold: share }), savesMin: amount })
        .exactOptional(),
    })
    .exactOptional(),
});

const budget = { tokensMaxEach: amount, tokensMax: amount };

const summary = z.strictObject({
  call: z.enum(["plain", "last-block", "fork-then-plain"]),
  model: z.literal("small-fast").exactOptional(),
  form: z.enum(["nine-sections", "prose"]),
  analysis: z.enum(["none", "kept", "stripped"]),
  transcriptPath: z.enum(["included", "omitted"]),
  check: z.enum(["none", "audited"]),
  made: z.enum(["when-due", "ahead"]),
  restored: z.strictObject({
    files: z.strictObject({ ...budget, filesMax: amount }).exactOptional(),
    skills: z.strictObject(budget).exactOptional(),
    others: z.array(z.enum(["todos", "plan", "agents", "tools", "mcp"])),
    order: z.enum(["as-listed", "stable-first"]),
  }),
  failures: z.strictObject({
    breakerFailures: amount.exactOptional(),
    breakerRestRounds: amount.exactOptional(),
    callsMax: z.strictObject({ calls: amount, inRounds: amount.max(callRoundsMax) }).exactOptional(),
    retriesMax: amount,
    reactive: z.enum(["never", "once"]),
  }),
  userMessages: z.strictObject({ messageTokensMax: amount, windowShareMax: share }).exactOptional(),
});

const background = z.strictObject({
  notes: z.strictObject({ firstTokens: amount, growthTokens: amount, callsMin: amount }).exactOptional(),
  extraction: z
    .strictObject({
      turnsMax: amount,
      everyTurns: amount.exactOptional(),
      growthTokens: amount.exactOptional(),
      corrections: z.literal("at-once").exactOptional(),
      atEnd: z.literal("while-warm").exactOptional(),
    })
    .exactOptional(),
  dream: z.strictObject({ hoursMin: amount, sessionsMin: amount }).exactOptional(),
  recall: z
    .strictObject({
      filesMax: amount,
      scannedMax: amount,
      linesMax: amount,
      fileKbMax: amount,
      sessionKbMax: amount,
    })
    .exactOptional(),
});

export const policyShape: z.ZodType<Policy> = z.strictObject({
  name: z.string().min(1),
  about: z.string(),
  chooses: z.enum(["first", "price"]),
  counting: z.enum([
    "usage",
    "usage-and-quarter-characters",
    "usage-without-writes",
    "usage-and-padded-estimate",
    "usage-and-calibrated-estimate",
  ]),
  thresholds,
  offload: offload.exactOptional(),
  clearable: clearable.exactOptional(),
  clear,
  truncate: z.strictObject({ overTokens: amount }).exactOptional(),
  snip: onOff,
  collapse: onOff,
  notes: onOff,
  extraction: onOff,
  dream: onOff,
  compact: z
    .strictObject({
      call: z.enum(["fork", "plain"]),
      early: z
        .strictObject({
          patience: z.strictObject({ first: amount, later: amount }),
          fromWindowShare: share,
          whenCold: z.enum(["if-it-pays", "never"]),
        })
        .exactOptional(),
      lossCost: amount.exactOptional(),
      headroomTokens: amount.exactOptional(),
      restores: z.enum(["nothing", "files"]),
      lastRung: z.enum(["none", "extract"]),
    })
    .exactOptional(),
  summary: summary.exactOptional(),
  background: background.exactOptional(),
  marks: z.enum(["system-and-last", "two-system-and-last-two", "tools-system-and-rolling", "planned"]),
});
