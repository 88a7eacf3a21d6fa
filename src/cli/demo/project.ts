import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** River gauges, each in a module of its own, each with an offset that is one too high. */
export const gaugeCount = 18;

/** The only one with faults in the station's log. */
export const faultyGauge = 11;

export const gaugePath = (gauge: number): string => `src/gauge-${twoDigits(gauge)}.mjs`;

export const logPath = "station.log";

/** What is wrong in each module, and what it should be. */
export const brokenOffset = (gauge: number): string => `offset = ${gauge + 1}`;
export const rightOffset = (gauge: number): string => `offset = ${gauge}`;

const twoDigits = (count: number): string => String(count).padStart(2, "0");

/** The same project every time: nothing of it is random. */
export async function writeProject(folder: string): Promise<string> {
  await mkdir(join(folder, "src"), { recursive: true });
  const cwd = await realpath(folder);
  for (let gauge = 1; gauge <= gaugeCount; gauge += 1) await writeFile(join(cwd, gaugePath(gauge)), gaugeText(gauge));
  await writeFile(join(cwd, "check.mjs"), checkText);
  await writeFile(join(cwd, logPath), stationLog());
  return cwd;
}

/** How many of the modules are as they should be. */
export async function repairedIn(cwd: string): Promise<number> {
  let repaired = 0;
  for (let gauge = 1; gauge <= gaugeCount; gauge += 1) {
    const text = await readFile(join(cwd, gaugePath(gauge)), "utf8");
    if (text === gaugeText(gauge).replace(brokenOffset(gauge), rightOffset(gauge))) repaired += 1;
  }
  return repaired;
}

const readingsPerGauge = 60;

function gaugeText(gauge: number): string {
  const readings = Array.from(
    { length: readingsPerGauge },
    (_, at) => `  { hour: ${at}, level: ${200 + ((gauge * 37 + at * 13) % 400)}, by: "float ${(gauge * at) % 9}" },`,
  );
  return [
    `// Gauge ${gauge}: levels in centimetres, as the station sends them.`,
    `export const ${brokenOffset(gauge)};`,
    "export const readings = [",
    ...readings,
    "];",
    "",
  ].join("\n");
}

const checkText = `const gauge = process.argv[2];
const { offset, readings } = await import(\`./src/gauge-\${gauge.padStart(2, "0")}.mjs\`);
if (offset !== Number(gauge)) {
  console.log(\`gauge \${gauge}: every level is \${offset - Number(gauge)} too high\`);
  process.exit(1);
}
console.log(\`gauge \${gauge}: \${readings.length} levels are right\`);
`;

/** A file that no window should have to hold. */
export function stationLog(): string {
  return Array.from(
    { length: 5_000 },
    (_, at) =>
      `${String(at).padStart(5, "0")} gauge ${1 + (at % gaugeCount)} ${at % 7 === 0 && 1 + (at % gaugeCount) === faultyGauge ? "FAULT" : "ok"} ${200 + ((at * 7) % 400)} cm`,
  ).join("\n");
}

export const lastLine = (): string => stationLog().split("\n").at(-1) ?? "";
