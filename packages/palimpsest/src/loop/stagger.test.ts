import { expect, it } from "vitest";
import { Stagger } from "./stagger.ts";

const never = new AbortController().signal;

/** Five seconds never pass. */
const slowClock = { wait: () => new Promise<void>(() => undefined) };

/** Enters, and says that it went. */
function entering(
  stagger: Stagger,
  { name, went, signal = never }: { name: string; went: string[]; signal?: AbortSignal },
) {
  return stagger.enter(signal).then((pass) => {
    went.push(name);
    return pass;
  });
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("lets the others go when the first has begun", async () => {
  const [stagger, went] = [new Stagger(slowClock), [] as string[]];
  const first = await entering(stagger, { name: "a", went });
  const others = ["b", "c"].map((name) => entering(stagger, { name, went }));
  await settled();
  expect(went).toEqual(["a"]);
  first.begun();
  await Promise.all(others);
  expect(went).toEqual(["a", "b", "c"]);
  first.left();
  await entering(stagger, { name: "d", went });
  expect(went).toEqual(["a", "b", "c", "d"]);
});

it("lets one of the others go first where the first leaves before it has begun", async () => {
  const [stagger, went] = [new Stagger(slowClock), [] as string[]];
  const first = await entering(stagger, { name: "a", went });
  const [second, ...others] = ["b", "c", "d"].map((name) => entering(stagger, { name, went }));
  first.left();
  await settled();
  expect(went).toEqual(["a", "b"]);
  (await second)?.left();
  await settled();
  expect(went).toEqual(["a", "b", "c"]);
  (await others[0])?.begun();
  await Promise.all(others);
  expect(went).toEqual(["a", "b", "c", "d"]);
});

it("waits for nobody once aborted, and then leads nobody", async () => {
  const [stagger, went] = [new Stagger(slowClock), [] as string[]];
  const first = await entering(stagger, { name: "a", went });
  const abort = new AbortController();
  const aborted = entering(stagger, { name: "b", went, signal: abort.signal });
  const third = entering(stagger, { name: "c", went });
  abort.abort();
  (await aborted).begun();
  await settled();
  expect(went).toEqual(["a", "b"]);
  first.left();
  await third;
  expect(went).toEqual(["a", "b", "c"]);
});

it("lets the others go after five seconds although the first has not begun", async () => {
  const elapsed = Promise.withResolvers<void>();
  const waits: number[] = [];
  const stagger = new Stagger({
    wait: (time) => {
      waits.push(time);
      return elapsed.promise;
    },
  });
  const went: string[] = [];
  await entering(stagger, { name: "a", went });
  const other = entering(stagger, { name: "b", went });
  await settled();
  expect(went).toEqual(["a"]);
  elapsed.resolve();
  await other;
  expect(went).toEqual(["a", "b"]);
  expect(waits).toEqual([5_000]);
});
