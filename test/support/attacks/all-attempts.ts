import type { Attempt } from "./attempt.ts";
import { denyRulesForReading } from "./classes/denied-reads.ts";
import { denyRulesForWriting } from "./classes/denied-writes.ts";
import { secretsInEnvironment } from "./classes/environment.ts";
import { assigningAndEvaluating } from "./classes/evaluating.ts";
import { leavingTheSandbox } from "./classes/leaving.ts";
import { links } from "./classes/links.ts";
import { network } from "./classes/network.ts";
import { backgroundJobs, filesOfJobs, otherProcesses } from "./classes/processes.ts";
import { programStarters } from "./classes/program-starters.ts";
import { protectedFiles } from "./classes/protected-files.ts";
import { secretsInFiles } from "./classes/reading.ts";
import { ownMadeRepositories } from "./classes/repositories.ts";
import { settingsGuard } from "./classes/settings-guard.ts";
import { syntaxAroundAChange } from "./classes/syntax.ts";
import { procAndDev } from "./classes/system-files.ts";
import { temporaryFolders } from "./classes/temporary-folders.ts";
import { expandingWords } from "./classes/words.ts";
import { writesOutside } from "./classes/writes-outside.ts";
import { type Sampler, sampler } from "./random.ts";

const makers: readonly ((sampler: Sampler) => readonly Attempt[])[] = [
  expandingWords,
  assigningAndEvaluating,
  ownMadeRepositories,
  procAndDev,
  programStarters,
  denyRulesForReading,
  denyRulesForWriting,
  settingsGuard,
  secretsInFiles,
  secretsInEnvironment,
  network,
  otherProcesses,
  writesOutside,
  protectedFiles,
  links,
  temporaryFolders,
  leavingTheSandbox,
  filesOfJobs,
  backgroundJobs,
  syntaxAroundAChange,
];

/** All attempts, in the order of their classes. Deterministic for a seed. */
export function allAttempts(seed: number): readonly Attempt[] {
  const attempts = makers.flatMap((make, index) => make(sampler(seed + index)));
  return [...new Map(attempts.map((attempt) => [JSON.stringify(attempt), attempt])).values()];
}
