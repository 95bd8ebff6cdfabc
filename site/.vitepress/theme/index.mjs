import DefaultTheme from 'vitepress/theme';
import MemoryPlanner from './MemoryPlanner.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('MemoryPlanner', MemoryPlanner);
  },
};
