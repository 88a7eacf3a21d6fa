/** Of a definition's front matter: longer ones hold their prompt in it. */
export const definitionFrontCharsMax = 16_384;
/** Every request of a parent carries it in the tool's description: about 250 tokens. */
export const definitionDescriptionCharsMax = 1_024;
/** Names of tools in one definition; more are no list that somebody wrote. */
export const definitionToolsMax = 200;
