import { settingTable, type SettingName } from "palimpsest/internal/schema/settings";

export type TextValue = { readonly kind: "value"; readonly value: unknown } | { readonly kind: "wrong" };

/** A value written as text, as variables and flags hold it. */
export function textValue(name: SettingName, text: string): TextValue {
  const { shape, type } = settingTable[name];
  const read = shape.safeParse(untyped(type, text.trim()));
  return read.success ? { kind: "value", value: read.data } : { kind: "wrong" };
}

function untyped(type: "text" | "number" | "switch" | "list", text: string): unknown {
  switch (type) {
    case "text":
    case "list":
      return text;
    case "number":
      return decimal.test(text) ? Number(text) : text;
    case "switch":
      return switchValue(text);
  }
}

const decimal = /^-?\d+(?:\.\d+)?$/;

const trueWords = new Set(["1", "true", "yes", "on"]);
const falseWords = new Set(["0", "false", "no", "off"]);

export function switchValue(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (trueWords.has(word)) return true;
  return falseWords.has(word) ? false : undefined;
}
export const switchExpects = "1, true, yes or on, or 0, false, no or off";
