/** Sessions that a chain of forks goes back to: each costs a look at the disk when the session opens. */
export const ancestorsMax = 100;
