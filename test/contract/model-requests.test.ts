import { createCompactionRequests } from "../../packages/cli/src/agent/tools/equip-session.ts";
import { createPlanning, SessionMode } from "../../packages/cli/src/agent/session/session-mode.ts";
import { refusedCompactionRequests } from "../../packages/palimpsest/src/ports/compaction-requests.ts";
import { unattendedPlanMode, forkPlanMode } from "../../packages/palimpsest/src/ports/plan-mode.ts";
import { filePlan } from "../../packages/palimpsest/src/store/files/file-notes.ts";
import { openedForTest, testDeps, testSession } from "../fixture/session.ts";
import { compactionRequestsContract, planningContract } from "./model-requests.ts";
import { temporaryFolder } from "./temporary-folder.ts";

compactionRequestsContract({ name: "of a session", takes: "yes", make: () => createCompactionRequests(() => true) });
compactionRequestsContract({ name: "switched off", takes: "no", make: () => createCompactionRequests(() => false) });
compactionRequestsContract({ name: "of a fork", takes: "no", make: () => refusedCompactionRequests });

planningContract({
  name: "of a session",
  plans: "nobody",
  make: async () => {
    const session = await openedForTest(testDeps());
    return createPlanning({
      mode: new SessionMode({ session, opening: () => "default" }),
      file: filePlan({ folder: await temporaryFolder(), session: testSession }),
      user: { review: async () => ({ kind: "nobody" }) },
    });
  },
});
planningContract({ name: "of a fork", plans: "never", make: async () => forkPlanMode });
planningContract({ name: "without a user", plans: "never", make: async () => unattendedPlanMode });
