// look.mjs MODULES PAGE PICTURES: opens a report in Chromium in several forms, takes a
// picture of each, and prints what is wrong with it as JSON: messages on the console,
// requests, what axe-core finds, and content that is wider than the window.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const [modules, page, pictures] = process.argv.slice(2);
const require = createRequire(resolve(modules, 'node_modules') + '/');
const puppeteer = require('puppeteer-core');
const axe = require.resolve('axe-core');

const forms = [
  { name: 'light', width: 1200, height: 900, scheme: 'light' },
  { name: 'dark', width: 1200, height: 900, scheme: 'dark' },
  { name: 'phone', width: 390, height: 844, scheme: 'light' },
  { name: 'print', width: 800, height: 1100, scheme: 'light', media: 'print' },
];

const browser = await puppeteer.launch({
  executablePath: process.env.WARPLD_TEST_CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--force-device-scale-factor=1', '--disable-dev-shm-usage'],
});
const found = [];
for (const form of forms) {
  const tab = await browser.newPage();
  const wrong = (what) => found.push(`${form.name}: ${what}`);
  tab.on('console', (m) => wrong(`console: ${m.text()}`));
  tab.on('pageerror', (e) => wrong(`error: ${e}`));
  tab.on('request', (r) => r.url().startsWith('data:') || r.isNavigationRequest() || wrong(`request: ${r.url()}`));
  await tab.setViewport({ width: form.width, height: form.height });
  await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: form.scheme }]);
  if (form.media) await tab.emulateMediaType(form.media);
  await tab.goto(pathToFileURL(page).href, { waitUntil: 'load' });
  await tab.screenshot({ path: `${pictures}-${form.name}.png`, fullPage: process.env.WARPLD_TEST_FULL_PAGE === '1' });
  const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (overflow > 0) wrong(`the page is ${overflow} pixels wider than the window`);
  await tab.addScriptTag({ path: axe });
  const { violations, passes } = await tab.evaluate(() => axe.run(document, { resultTypes: ['violations', 'passes'] }));
  for (const v of violations) wrong(`axe: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}`);
  if (passes.length === 0) wrong('axe checked nothing');
  if (form.name === 'light') {
    await tab.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
    const opened = await tab.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
    for (const v of opened.violations) wrong(`axe, all open: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}`);
    await tab.keyboard.press('Tab');
    const first = await tab.evaluate(() => document.activeElement.textContent);
    if (!first.startsWith('Skip')) wrong(`the first stop of the keyboard is ${first}`);
  }
  await tab.close();
}
await browser.close();
console.log(JSON.stringify(found));
