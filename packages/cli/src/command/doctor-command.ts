import { openWorkspace } from "../host/workspace.ts";
import { command } from "../program/command.ts";
import { checksText } from "../doctor/check.ts";
import { machineChecks, sandboxCheck, withSandbox } from "../doctor/machine-checks.ts";
import { placeChecks, sessionChecks } from "../doctor/place-checks.ts";
import { serverChecks } from "../doctor/server-checks.ts";
import { exitCode } from "../program/failure.ts";

export const doctorCommand = command({
  name: "doctor",
  summary: "check that everything palimpsest needs is there",
  options: {
    online: { type: "boolean", summary: "also check that the model's address answers" },
    servers: { type: "boolean", summary: "also start the MCP servers that may be started, and stop them again" },
  },
  json: "checks (name, state, says, todo)",
  details: [
    "Nothing is changed or ended, and nothing leaves the machine without --online or --servers. No key is shown.",
    "Exit code 1: something failed; warnings are fine.",
  ],
  run: async (context, { options, format }) => {
    const workspace = openWorkspace(context);
    const here = await workspace.settings();
    const start = options.servers ? "asked" : "not-asked";
    const checks = await withSandbox(context, async (sandbox) => [
      ...(await machineChecks(context, workspace.home)),
      sandboxCheck(here.reading.settings.sandbox.value, sandbox),
      ...(await placeChecks({ context, workspace, here, online: options.online ? "asked" : "not-asked" })),
      ...(await sessionChecks(workspace)),
      ...(await serverChecks({ context, workspace, here, sandbox, start })),
    ]);
    if (format === "json") await context.out.json({ checks });
    else await context.out.write(checksText(checks, context.out.style));
    return checks.some(({ state }) => state === "failed") ? exitCode.negative : exitCode.fine;
  },
});
