import { Unicode11Addon } from "@xterm/addon-unicode11";
import type { IUnicodeVersionProvider, Terminal } from "@xterm/headless";

/**
 * How many cells a cluster of code points takes. `joined`: a family joined by U+200D is one character of two cells, as the
 * newer terminals show it; `single`: each of its members is, as the older ones do.
 */
export type Clusters = "joined" | "single";

export function setCharacterWidth(screen: Terminal, clusters: Clusters): void {
  const single = widthsOfUnicode11();
  screen.unicode.register(single);
  if (clusters === "joined") screen.unicode.register(joinedClusters(single));
  screen.unicode.activeVersion = clusters === "joined" ? joinedName : single.version;
}

const joinedName = "11, joined";

function widthsOfUnicode11(): IUnicodeVersionProvider {
  const provided: IUnicodeVersionProvider[] = [];
  const place = { unicode: { register: (one: IUnicodeVersionProvider) => provided.push(one) } };
  new Unicode11Addon().activate(place);
  const [provider] = provided;
  if (provider === undefined) throw new Error("the addon has registered nothing");
  return provider;
}

const joiner = 0x200d;
const emojiStyle = 0xfe0f;
const isSkin = (code: number): boolean => code >= 0x1_f3_fb && code <= 0x1_f3_ff;

/**
 * The screen asks for the properties of each code point with those of the one before: bit 0 says that both share a cell,
 * bits 1 and 2 the width of what stands there now, the others are for whoever answers.
 */
function joinedClusters(single: IUnicodeVersionProvider): IUnicodeVersionProvider {
  return {
    version: joinedName,
    wcwidth: (code) => single.wcwidth(code),
    charProperties: (code, preceding) => {
      const isBehindJoiner = preceding >> 3 === 1;
      const widthBefore = (preceding >> 1) & 3;
      const own = code === emojiStyle ? 2 : single.wcwidth(code);
      const isJoined =
        widthBefore > 0 && (isBehindJoiner || single.wcwidth(code) === 0 || (isSkin(code) && widthBefore === 2));
      const width = isJoined ? Math.max(widthBefore, own) : own;
      return ((code === joiner ? 1 : 0) << 3) | (width << 1) | (isJoined ? 1 : 0);
    },
  };
}
