export const CATALOG_SHA256="";export const CATALOG_DATE="";export const CATALOG_DATA={date:"",source:"",providers:{},groups:{}};
