/** Of a message where it stands in a list or is named in a sentence: enough to know it again. */
export const messageCharsMax = 120;

/** Of what an id stands for: some screens. Who wants more wants it in a pager. */
export const recalledCharsMax = 16_000;

/** Of what a job has written: some screens from its end. */
export const jobLinesMax = 200;
