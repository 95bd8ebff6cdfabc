/** What Vite makes of imports with these endings. */
declare module '*?worker&url' {
  const url: string;
  export default url;
}
