/**
 * Whether a script of sed may run a program, by the command `e` or a substitution with that flag. What is not understood
 * may. Commands: addresses, then a letter, then what belongs to it. Pure.
 */
export function mayExecute(script: string): boolean {
  let at = 0;
  while (at < script.length) {
    const gap = /^(?:[\s;{}]|#[^\n]*)+/.exec(script.slice(at));
    at += gap?.[0].length ?? 0;
    if (at >= script.length) return false;
    const end = endOfCommand(script, at);
    if (end === undefined) return true;
    at = end;
  }
  return false;
}

/** Undefined if it runs a program, or is not understood. */
function endOfCommand(script: string, start: number): number | undefined {
  const at = endOfAddresses(script, start);
  if (at === undefined) return undefined;
  const letter = script.charAt(at);
  switch (letter) {
    case "{":
      return at + 1;
    case "s":
    case "y": {
      const delimiter = script.charAt(at + 1);
      const middle = endOfPart(script, { at: at + 2, delimiter });
      const end = middle && endOfPart(script, { at: middle, delimiter });
      return end === undefined ? undefined : endOfFlags(script, end);
    }
    case "a":
    case "i":
    case "c":
    case "r":
    case "R":
    case "w":
    case "W":
      return endOfText(script, at + 1);
    case "b":
    case "t":
    case "T":
    case ":":
      return at + (/^.[^\n;}]*/.exec(script.slice(at))?.[0].length ?? 1);
    default: {
      // A number may stand behind `q` and `l`.
      const simple = /^[pdDPnNgGhHxqQ=lFzL]\s*\d*/.exec(script.slice(at))?.[0];
      return simple === undefined ? undefined : at + simple.length;
    }
  }
}

function endOfAddresses(script: string, start: number): number | undefined {
  let at = start;
  for (;;) {
    const simple = /^(?:\d+(?:~\d+)?|\$|[+~]\d+|[,!\s])/.exec(script.slice(at))?.[0];
    if (simple !== undefined) at += simple.length;
    else if (script.charAt(at) === "/" || script.charAt(at) === "\\") {
      const isOwn = script.charAt(at) === "\\";
      const delimiter = isOwn ? script.charAt(at + 1) : "/";
      const end = endOfPart(script, { at: at + (isOwn ? 2 : 1), delimiter });
      if (end === undefined) return undefined;
      at = end + (/^[IM]*/.exec(script.slice(end))?.[0].length ?? 0);
    } else return at;
  }
}

interface Part {
  readonly at: number;
  readonly delimiter: string;
}

/** Whether a delimiter in brackets is one differs between systems, so there it is not understood. */
function endOfPart(script: string, { at, delimiter }: Part): number | undefined {
  if (delimiter === "" || delimiter === "\n" || delimiter === "\\") return undefined;
  let open = false;
  for (let index = at; index < script.length; index += 1) {
    const sign = script.charAt(index);
    if (sign === "\\") index += 1;
    else if (sign === delimiter) return open ? undefined : index + 1;
    else if (sign === "[") open = true;
    else if (sign === "]") open = false;
  }
  return undefined;
}

function endOfFlags(script: string, at: number): number | undefined {
  const flags = /^[gpiImM\d]*/.exec(script.slice(at))?.[0] ?? "";
  const end = at + flags.length;
  if (script.charAt(end) === "w") return endOfText(script, end + 1);
  return end === script.length || /[\s;}#]/.test(script.charAt(end)) ? end : undefined;
}

/** To the end of the line, and on where that is escaped. */
const endOfText = (script: string, at: number): number =>
  at + (/^(?:\\[^]|[^\\\n])*/.exec(script.slice(at))?.[0].length ?? 0);
