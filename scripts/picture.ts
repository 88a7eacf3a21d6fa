import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `node scripts/picture.ts <name> <palimpsest arguments… | example.ts>`: runs the command, or the example, as a terminal
 * would see it and writes docs/picture/<name>.svg, so that the pictures in the docs are real output. PICTURE=plain turns colours off, and
 * PICTURE_LINES=<n> limits the lines.
 */
// eslint-disable-next-line no-control-regex -- escape sequences begin with a control character
const ansi = /\u001b\[([0-9;]*)m/;
const fonts = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const colours: ReadonlyMap<number, string> = new Map([
  [2, "#7d8590"],
  [31, "#ff7b72"],
  [32, "#7ee787"],
  [33, "#e3b341"],
  [34, "#79c0ff"],
  [35, "#d2a8ff"],
  [36, "#76e3ea"],
  [39, "#e6edf3"],
  [90, "#7d8590"],
]);
const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const [name, ...args] = process.argv.slice(2);
if (name === undefined || args.length === 0) {
  console.error("usage: node scripts/picture.ts <name> <palimpsest arguments… | example.ts>");
  process.exit(2);
}
const root = join(import.meta.dirname, "..");
const plain = process.env["PICTURE"] === "plain";
const env = { ...process.env, FORCE_COLOR: plain ? "0" : "1", NO_COLOR: plain ? "1" : "", COLUMNS: "80" };
const isExample = args[0]?.endsWith(".ts") === true;
const program = isExample ? ["--conditions=@palimpsest/source"] : [join(root, "bin/palimpsest")];
const output = execFileSync(process.execPath, [...program, ...args], { encoding: "utf8", env, cwd: root });
const file = join(root, "docs/picture", `${name}.svg`);
const printed = output.trimEnd().split("\n");
const linesMax = Number(process.env["PICTURE_LINES"] ?? printed.length);
const shown = printed.length > linesMax ? [...printed.slice(0, linesMax), "…"] : printed;
writeFileSync(file, svgOf(`${isExample ? "npm run example --" : "palimpsest"} ${args.join(" ")}`, shown));

interface Look {
  readonly fill: string;
  readonly bold: boolean;
}

function svgOf(title: string, lines: readonly string[]): string {
  const charWidth = 8.4;
  const lineHeight = 19;
  const columns = Math.max(
    title.length + 6,
    ...lines.map(
      (line) =>
        line
          .split(ansi)
          .filter((_, at) => at % 2 === 0)
          .join("").length,
    ),
  );
  const width = Math.ceil(columns * charWidth + 40);
  const height = lines.length * lineHeight + 66;
  const rows = lines.map(
    (line, at) => `<text x="20" y="${58 + at * lineHeight}" xml:space="preserve">${spansOf(line)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">
<rect width="100%" height="100%" rx="8" fill="#16181d"/>
<text x="20" y="28" font-family="${fonts}" font-size="13" fill="#7d8590">$ ${escapeXml(title)}</text>
<g font-family="${fonts}" font-size="14" fill="${colours.get(39)}">
${rows.join("\n")}
</g>
</svg>
`;
}

function spansOf(line: string): string {
  let look: Look = { fill: "", bold: false };
  return line
    .split(ansi)
    .map((part, at) => {
      if (at % 2 === 1) {
        look = applyCodes(look, part);
        return "";
      }
      if (part === "") return "";
      const fill = look.fill === "" ? "" : ` fill="${look.fill}"`;
      return `<tspan${fill}${look.bold ? ' font-weight="bold"' : ""}>${escapeXml(part)}</tspan>`;
    })
    .join("");
}

function applyCodes(look: Look, codes: string): Look {
  let next = look;
  for (const code of codes.split(";").map(Number)) {
    if (code === 0 || code === 22) next = { fill: "", bold: false };
    else if (code === 1) next = { ...next, bold: true };
    else next = { ...next, fill: colours.get(code) ?? "" };
  }
  return next;
}
