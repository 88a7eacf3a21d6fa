import { type Jobs, noJobsHere } from "palimpsest/internal/ports/jobs";
import { nobody, type Person } from "palimpsest/internal/ports/person";
import { type Planning, planningAlone } from "palimpsest/internal/ports/planning";

/** What tools are made of that are not there everywhere: each is absent where an agent has no such tool. */
export interface Attended {
  readonly person: Person | undefined;
  readonly planning: Planning | undefined;
  readonly jobs: Jobs | undefined;
}

/**
 * A session that has had a tool keeps it, also where it is gone on with alone or only compacted: what takes its place there
 * refuses. To say that tools are gone, and that they are back with their definitions, would cost more each time than a
 * call that is refused.
 */
export const keptTools = ({ person, planning, jobs }: Attended, had: ReadonlySet<string>): Attended => ({
  person: person ?? (had.has("ask_user") ? nobody : undefined),
  planning: planning ?? (had.has("plan") ? planningAlone : undefined),
  jobs: jobs ?? (had.has("bash_output") ? noJobsHere : undefined),
});
