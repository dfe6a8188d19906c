/** A share of an amount in cents, rounded half up. `percent` is a whole number. */
export const percentOf = (cents, percent) => Math.floor((cents * percent + 50) / 100);
