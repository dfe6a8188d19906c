export interface Greeting {
  readonly text: string;
  readonly pid: number;
}
export const greet = (name: string, loud: boolean): Greeting => ({
  text: loud ? `HELLO ${name.toUpperCase()}` : `hello ${name}`,
  pid: process.pid,
});
