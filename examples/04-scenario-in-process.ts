import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import {
  FaultChoice,
  openTraceFile,
  readScenario,
  formatScenarioProblem,
  scriptResponder,
  Simulator,
  simulatorFetch,
  TraceWriter,
} from "@palimpsest/simulator";

// A scenario answers. `responder: extractResponder` or your own object with `respond(input)` would work too.
const reading = await readScenario(join(import.meta.dirname, "scenarios/failing-test.yaml"));
if (reading.kind !== "scenario") throw new Error(reading.problems.map(formatScenarioProblem).join("\n"));

// Every request is written to a trace, for `palimpsest trace list`.
const path = join(await mkdtemp(join(tmpdir(), "example-")), "trace.jsonl");
const opened = await openTraceFile({ path, onError: (error) => console.error(error.message) });
if (opened.kind === "exists") throw new Error(`${path} is there already`);
const trace = new TraceWriter({ write: opened.file.write });

// About a third of the requests fail at random, the same ones for the same seed.
const faults = new FaultChoice({ seed: 2, faults: [{ fault: { kind: "overloaded" }, probability: 0.3 }] });

const simulator = new Simulator({ responder: scriptResponder(reading.scenario), faults, trace, seed: 2 });
await trace.begin({ seed: 2, startedAt: simulator.clock.now() });

const client = new Anthropic({ apiKey: "any", fetch: simulatorFetch(simulator), maxRetries: 0 });
for (let request = 1; request <= 4; request += 1) {
  const asked = { model: "claude-sonnet-5-5", max_tokens: 200 };
  const messages = [{ role: "user" as const, content: "Make the test pass." }];
  try {
    const { content } = await client.messages.create({ ...asked, messages });
    console.log(`${request}: ${content.map((block) => (block.type === "text" ? block.text : block.type)).join(", ")}`);
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    console.log(`${request}: ${error.status}`);
  }
}
await opened.file.close();
console.log("trace: palimpsest trace list", path);
