import { expect, test } from "vitest";
import type { ModelPort, ModelRequest } from "../ports/model-port.ts";
import { modelOnDemand } from "./model-on-demand.ts";

/** As many loads fail as there are errors. */
function onDemand(...errors: readonly Error[]) {
  const loads = { count: 0 };
  const model: ModelPort = {
    provider: "own",
    // oxlint-disable-next-line require-yield
    async *send() {
      return;
    },
    describe: () => Promise.resolve(undefined),
  };
  const port = modelOnDemand({
    provider: "mine",
    load: () => {
      loads.count += 1;
      const error = errors[loads.count - 1];
      return error === undefined ? Promise.resolve(model) : Promise.reject(error);
    },
  });
  const send = async (): Promise<void> => {
    for await (const _ of port.send({} as ModelRequest, new AbortController().signal));
  };
  return { port, loads, send };
}

test("nothing is loaded before the first request, and then once, also by requests at the same time", async () => {
  const { port, loads, send } = onDemand();
  expect([port.provider, loads.count]).toEqual(["mine", 0]);
  await Promise.all([send(), send(), port.describe("m")]);
  await send();
  expect(loads.count).toBe(1);
});

test("a count is data where the client can't be loaded or has no such endpoint", async () => {
  const { port } = onDemand(new Error("no such package"));
  const asked = { model: "m", system: [], tools: [], messages: [] };
  expect(await port.count?.(asked)).toEqual({ kind: "uncounted", message: "Error: no such package" });
  expect(await port.count?.(asked)).toEqual({ kind: "uncounted", message: "mine does not count." });
});

test("a load that fails fails its request, and the next request tries again", async () => {
  const { loads, send } = onDemand(new Error("no such package"));
  await expect(send()).rejects.toThrow("no such package");
  await send();
  await send();
  expect(loads.count).toBe(2);
});
