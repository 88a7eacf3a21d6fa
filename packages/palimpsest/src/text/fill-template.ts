/**
 * Replaces each `{{name}}` by its value; an empty value also takes the line ends behind it. Values are inserted as they
 * are: what looks like a placeholder inside them stays, and so do unknown names.
 */
export function fillTemplate<Name extends string>(template: string, values: Readonly<Record<Name, string>>): string {
  const isName = (name: string): name is Name => Object.hasOwn(values, name);
  return template
    .replaceAll(/\{\{(\w+)\}\}(\n*)/g, (whole: string, name: string, newlines: string) => {
      if (!isName(name)) return whole;
      return values[name] === "" ? "" : values[name] + newlines;
    })
    .trim();
}

/** So that a text stands for itself in a regular expression, outside of a class. Node 22 has no `RegExp.escape`. */
export const escapeRegExp = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
