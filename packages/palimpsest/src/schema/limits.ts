/** The API's limit for a tool's name, in definitions and in calls, including old calls. */
export const toolNameCharsMax = 128;

/** Each pass drops invalid values, which may make their parent invalid: as many passes as values are nested, and some more. */
export const fittingPassesMax = 10;

// Messages between agents.

/** Half of a window of a million tokens at most; what is longer belongs into a file that the message names. */
export const messageCharsMax = 1_000_000;

/** A sender that is this far ahead of its receiver floods it; it is told so and can wait. */
export const unreadPerSenderMax = 50;

/** A line that people read in a list of agents; it is also the name of a folder. */
export const agentNameCharsMax = 64;

/** Session ids have at most so many characters, and a session's agents are a team by its id. */
export const teamNameCharsMax = 180;

/** An id is a UUID or a hash; a longer one is something else. */
export const envelopeIdCharsMax = 128;

/** One line about a message, for lists. */
export const messageSummaryCharsMax = 500;

/** Members of one team: each is a process with a model. */
export const teamMembersMax = 32;
