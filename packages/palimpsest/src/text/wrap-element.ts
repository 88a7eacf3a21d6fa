/** Puts a text between tags, with a number behind the name if the text would close them itself. */
export function wrapElement(name: string, text: string): string {
  let tag = name;
  for (let serial = 2; text.includes(`</${tag}`); serial += 1) tag = `${name}_${serial}`;
  return `<${tag}>\n${text.trimEnd()}\n</${tag}>`;
}
