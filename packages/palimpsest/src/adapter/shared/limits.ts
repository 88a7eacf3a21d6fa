/** Times that a refused request is made plainer and sent again: the ladder has six rungs. */
export const plainerTriesMax = 6;
