import { render } from 'preact';
import { App } from './shell';

const root = document.getElementById('app');
if (root !== null) render(<App />, root);
