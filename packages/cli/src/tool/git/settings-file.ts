export interface GitSetting {
  /** Section and key in small letters, without the part in quotes: `filter.clean`. */
  readonly name: string;
  readonly value: string;
}

/**
 * The settings of a file in git's own language. Undefined if it holds a line that git may read otherwise than this does;
 * such lines are rare. Pure.
 */
export function parseSettings(text: string): readonly GitSetting[] | undefined {
  const settings: GitSetting[] = [];
  let section: string | undefined;
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    // A value that goes on in the next line could hide what that line is.
    if (/\\\r?$|\0/.test(line)) return undefined;
    let rest = line.trim();
    for (let header = headerForm.exec(rest); header !== null; header = headerForm.exec(rest)) {
      section = header.groups?.["section"]?.toLowerCase();
      rest = rest.slice(header[0].length).trim();
    }
    if (rest === "" || /^[#;]/.test(rest)) continue;
    const setting = settingForm.exec(rest)?.groups;
    if (section === undefined || setting === undefined) return undefined;
    const { key = "", value = "" } = setting;
    settings.push({ name: `${section}.${key.toLowerCase()}`, value: value.replaceAll('"', "") });
  }
  return settings;
}

/** `[core]`, `[filter "x"]`, and the old `[filter.x]`. A setting may stand behind it. */
const headerForm = /^\[\s*(?<section>[\w-]+)(?:\.[\w.-]*)?\s*(?:"(?:[^"\\]|\\.)*")?\s*\]/;
/** Without an equals sign it is true. */
const settingForm = /^(?<key>[a-z][\w-]*)\s*(?:=\s*(?<value>.*))?$/i;
