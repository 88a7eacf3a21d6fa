import { compactionAsks } from "../../packages/cli/src/agent/compaction-asks.ts";
import { planningFor } from "../../packages/cli/src/agent/plan/planning.ts";
import { SessionMode } from "../../packages/cli/src/agent/plan/session-mode.ts";
import { refusingAsks } from "../../packages/palimpsest/src/ports/compaction-asks.ts";
import { planningAlone, refusingPlanning } from "../../packages/palimpsest/src/ports/planning.ts";
import { filePlan } from "../../packages/palimpsest/src/store/files/notes-file.ts";
import { openedForTest, testDeps, testSession } from "../fixture/session.ts";
import { compactionAsksContract, planningContract } from "./asking.ts";
import { temporaryFolder } from "./temporary-folder.ts";

compactionAsksContract({ name: "of a session", takes: "yes", make: () => compactionAsks(() => true) });
compactionAsksContract({ name: "switched off", takes: "no", make: () => compactionAsks(() => false) });
compactionAsksContract({ name: "of a fork", takes: "no", make: () => refusingAsks });

planningContract({
  name: "of a session",
  plans: "nobody",
  make: async () => {
    const session = await openedForTest(testDeps());
    return planningFor({
      mode: new SessionMode({ session, opening: () => "default" }),
      file: filePlan({ folder: await temporaryFolder(), session: testSession }),
      person: { review: async () => ({ kind: "nobody" }) },
    });
  },
});
planningContract({ name: "of a fork", plans: "never", make: async () => refusingPlanning });
planningContract({ name: "without a user", plans: "never", make: async () => planningAlone });
