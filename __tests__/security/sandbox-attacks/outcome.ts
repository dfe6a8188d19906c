/** Whether some code has changed the prototype of every object of this process. */
export const polluted = (): boolean => "polluted" in {};
