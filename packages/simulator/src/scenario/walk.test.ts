import { describe, expect, it } from "vitest";
import { delivered, played, requestOf, said } from "../../../../test/fixture/scene.ts";
import type { Responder } from "../responder/responder.ts";
import { parseScenario } from "./read-scenario.ts";
import { scriptResponder } from "./script-responder.ts";

const hello = requestOf("Hello you");

function responderOf(text: string): Responder {
  const reading = parseScenario({ file: "s.yaml", text: `name: s\n${text}` });
  if (reading.kind !== "scenario") throw new Error(reading.problems.map(({ what }) => what).join("\n"));
  return scriptResponder(reading.scenario);
}

describe("long ways", () => {
  it("a hundred thousand faults go with the next move", async () => {
    const responder = responderOf("moves: [{ repeat: 100000, fault: [overloaded, reset] }, { text: a }]");
    expect((await played(responder, hello)).fault?.kind).toBe("overloaded");
  });

  it("a branch asks a request once, however often it is repeated", async () => {
    const responder = responderOf("moves: [{ repeat: 100000, when: { anyText: b }, do: [{ text: b }] }, { text: a }]");
    const long = requestOf("a".repeat(1_000_000));
    expect(said(await delivered(responder, long))).toBe("a");
  });

  it("who gets no move in a million steps is refused, and the next goes on from there", async () => {
    const never = "{ repeat: 100000, when: { called: x }, do: [{ text: b }] }";
    const responder = responderOf(`moves: [${`${never}, `.repeat(25)} { text: a }]`);
    const { move } = await played(responder, hello);
    expect(move).toMatchObject({
      kind: "refuse",
      refusal: { type: "api_error", message: "the scenario has no move among its next 1000000 steps" },
    });
    expect((await played(responder, hello)).move.kind).toBe("refuse");
    expect(said(await delivered(responder, hello))).toBe("a");
  });
});
